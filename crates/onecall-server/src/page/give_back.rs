//! Gives a form back that could not be used, with all its fields, so that nothing that was typed is lost.

use maud::{Markup, html};

use super::fields::Fields;
use super::room::excerpt;
use super::text;

/// The longest value that is shown, in bytes. The form has the whole.
const MAX_SHOWN: usize = 10_000;

/// A form with the same fields, to be sent again to `address`, and what was typed.
pub(super) fn form(address: &str, fields: &Fields) -> Markup {
    html! {
        form method="post" action=(address) {
            @for (name, value) in fields.pairs() { input type="hidden" name=(name) value=(value); }
            button type="submit" { "Send the form again" }
        }
        (typed(fields))
    }
}

/// What a form had, to be read and copied.
pub(super) fn typed(fields: &Fields) -> Markup {
    let shown: Vec<_> =
        fields.pairs().filter(|(name, value)| *name != "check" && !value.is_empty()).collect();
    html! {
        @if !shown.is_empty() {
            section { h2 { "What the form had" }
                dl { @for (name, value) in shown {
                    dt { (text::line(name, 80)) }
                    dd { pre { (excerpt(value, MAX_SHOWN).text) } }
                } }
            }
        }
    }
}
