//! Matches URIs against resource templates such as `file:///{path}`.

/// Whether a URI can be an instance of a template; a variable matches any text. This only finds the
/// server that offers a resource, it does not grant access to it.
#[must_use]
pub fn matches(template: &str, uri: &str) -> bool {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        parts.push(literal);
        let Some((_, after)) = after.split_once('}') else { return false };
        rest = after;
    }
    let Some((first, middle)) = parts.split_first() else { return template == uri };
    let Some(mut left) = uri.strip_prefix(first) else { return false };
    for literal in middle {
        let Some(at) = left.find(literal) else { return false };
        left = left.get(at + literal.len()..).unwrap_or_default();
    }
    left.ends_with(rest)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn variables_stand_for_anything() {
        for (template, uri, expected) in [
            ("a://b", "a://b", true),
            ("a://b", "a://c", false),
            ("file:///{+path}", "file:///x/y", true),
            ("file:///{path}", "http:///x", false),
            ("db://{table}/rows/{id}", "db://t/rows/7", true),
            ("db://{table}/rows/{id}.json", "db://t/rows/7", false),
            ("db://{table", "db://x", false),
        ] {
            assert_eq!(matches(template, uri), expected, "{template} {uri}");
        }
    }
}
