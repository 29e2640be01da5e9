//! The frame of every page: head, navigation and footer. Style and script are parts of the document, so
//! that a page is one request, and the content security policy names them by their digests.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use onecall_core::Digest;

use super::context::PageContext;
use super::parts::PARTS;

/// The style of all pages.
pub(super) const STYLE: &str = include_str!("assets/page.css");

/// The script of all pages.
pub(super) const SCRIPT: &str = include_str!("assets/page.js");

/// The picture of the page in the browser's tab.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
                    %3Crect width='16' height='16' rx='4' fill='%232458c6'/%3E%3Ccircle cx='8' cy='8' \
                    r='3.5' fill='none' stroke='white' stroke-width='2'/%3E%3C/svg%3E";

/// What a browser may do with a page: use this style and this script, show pictures of the page, and send forms and requests to where it came from.
pub(super) static SECURITY_POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src 'self' data:; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        source(STYLE),
        source(SCRIPT)
    )
});

/// What a browser may do with a file: use this style, and show pictures that are a part of the file.
static FILE_POLICY: LazyLock<String> = LazyLock::new(|| {
    format!("default-src 'none'; style-src '{}'; img-src data:; base-uri 'none'", source(STYLE))
});

fn source(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Digest::of(text).into_bytes()))
}

/// The document for a person who has signed in.
pub(super) fn page(context: &PageContext, title: &str, body: &Markup) -> Markup {
    let open = context.open_questions();
    let badge = if open > 0 { format!("({open}) ") } else { String::new() };
    let current = context.part.as_str();
    let content = html! {
        a.skip href="#main" { "Skip to the content" }
        header.top {
            a.brand href="/page/" { "onecall" }
            nav aria-label="Pages" {
                @for part in PARTS.iter().filter(|part| (part.is_shown)(context)) {
                    a href=(part.address()) aria-current=[(part.name == current).then_some("page")] {
                        (part.title)
                        @if part.name == "inbox" {
                            span.badge #inbox-count data-live data-count=(open) hidden[open == 0] {
                                (open) span.sr { " waiting" }
                            }
                        }
                    }
                }
            }
            div.who {
                span title="Signed in as" { (super::text::line(&context.viewer.name, 60)) }
                form method="post" action="/page/sign-out" {
                    (context.form_check())
                    button.quiet type="submit" { "Sign out" }
                }
            }
        }
        main #main tabindex="-1" { h1 { (title) } (body) }
        p.sr #announcement role="status" aria-live="polite" {}
    };
    document(&format!("{badge}{title} · onecall"), "signed-in", &content)
}

/// The document for a person who has not signed in.
pub(super) fn outside(title: &str, body: &Markup) -> Markup {
    let content = html! {
        header.top { span.brand { "onecall" } }
        main #main.narrow { h1 { (title) } (body) }
    };
    document(&format!("{title} · onecall"), "outside", &content)
}

/// A document that needs nothing else, to be kept as a file.
pub(super) fn standalone(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, html! { meta http-equiv="Content-Security-Policy" content=(*FILE_POLICY); }))
            body { main #main { h1 { (title) } (body) } }
        }
    }
}

fn document(title: &str, kind: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, html! {}))
            body data-kind=(kind) { (content) script { (PreEscaped(SCRIPT)) } }
        }
    }
}

fn head(title: &str, more: Markup) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            (more)
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="robots" content="noindex";
            title { (title) }
            link rel="icon" href=(PreEscaped(ICON));
            style { (PreEscaped(STYLE)) }
        }
    }
}
