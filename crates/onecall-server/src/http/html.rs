//! Writes small HTML pages. All text is escaped; markup can only come from this file.

use std::fmt::Write;

/// The style of all pages. The content security policy allows this text and no other style.
pub(super) const STYLE: &str = "body{font-family:system-ui,sans-serif;line-height:1.5;max-width:40rem;\
    margin:4rem auto;padding:0 1rem}input,button{font:inherit;padding:.4rem .6rem}\
    input{width:100%;box-sizing:border-box}.problem{border-left:.3rem solid #b00;padding-left:.8rem}";

/// A page under construction.
pub(super) struct Page {
    title: String,
    body: String,
}

/// A form that is sent to the page itself.
pub(super) struct Form<'a> {
    /// The value of the hidden field `check`.
    pub check: &'a str,
    /// The text beside the field `answer`.
    pub label: &'a str,
    /// Whether the field hides what is typed.
    pub is_secret: bool,
    /// The text on the button.
    pub button: &'a str,
}

impl Page {
    pub fn new(title: &str) -> Self {
        Self { title: escape(title), body: String::new() }
    }

    pub fn paragraph(mut self, text: &str) -> Self {
        _ = write!(self.body, "<p>{}</p>", escape(text));
        self
    }

    pub fn problem(mut self, text: &str) -> Self {
        _ = write!(self.body, "<p class=\"problem\" role=\"alert\">{}</p>", escape(text));
        self
    }

    /// A term with its description, as in a table of two columns.
    pub fn facts(mut self, facts: &[(&str, &str)]) -> Self {
        self.body.push_str("<dl>");
        for (term, description) in facts {
            let (term, description) = (escape(term), escape(description));
            _ = write!(self.body, "<dt>{term}</dt><dd><strong>{description}</strong></dd>");
        }
        self.body.push_str("</dl>");
        self
    }

    pub fn link(mut self, address: &str, text: &str) -> Self {
        let (address, text) = (escape(address), escape(text));
        _ = write!(self.body, "<p><a rel=\"noreferrer\" href=\"{address}\">{text}</a></p>");
        self
    }

    pub fn form(mut self, form: &Form<'_>) -> Self {
        let kind = if form.is_secret { "password" } else { "text" };
        let [check, label, button] = [form.check, form.label, form.button].map(escape);
        _ = write!(
            self.body,
            "<form method=\"post\"><input type=\"hidden\" name=\"check\" value=\"{check}\">\
             <p><label>{label}<br><input type=\"{kind}\" name=\"answer\" required maxlength=\"1000\" \
             autocomplete=\"off\" autocapitalize=\"none\" spellcheck=\"false\"></label></p>\
             <p><button type=\"submit\">{button}</button></p></form>"
        );
        self
    }

    /// The complete document.
    pub fn finish(self) -> String {
        let Self { title, body } = self;
        format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"robots\" \
             content=\"noindex\"><title>{title}</title><style>{STYLE}</style></head>\
             <body><h1>{title}</h1>{body}</body></html>\n"
        )
    }
}

/// Writes text so that it is no markup, neither between tags nor in a quoted attribute.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '`' => escaped.push_str("&#96;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        let hostile = "<script>alert('x')</script>\"><img src=x onerror=\"y\"> & `";
        let form = Form { check: hostile, label: hostile, is_secret: false, button: hostile };
        let page = Page::new(hostile)
            .paragraph(hostile)
            .problem(hostile)
            .facts(&[(hostile, hostile)])
            .link(hostile, hostile)
            .form(&form)
            .finish();
        let escaped = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&gt;&lt;img src=x \
                       onerror=&quot;y&quot;&gt; &amp; &#96;";
        assert_eq!(page.matches(escaped).count(), 11);
        assert_eq!(page.matches("<script").count() + page.matches("<img").count(), 0);
    }
}
