//! Inserts the arguments of a call into the command line of a command. Each template becomes one
//! argument of the command or none, never several, and a value that begins with a dash cannot
//! become an option. The caller is not trusted.

use onecall_config::{Template, TemplatePart};

use super::arguments::{ArgumentError, Arguments};

/// The argument that ends the options of nearly every command.
const END_OF_OPTIONS: &str = "--";

/// The arguments of the command. A template with an absent argument is left out.
pub(super) fn argv(
    templates: &[Template],
    arguments: &Arguments<'_>,
) -> Result<Vec<String>, ArgumentError> {
    let mut argv = Vec::with_capacity(templates.len());
    let mut is_past_options = false;
    for template in templates {
        let Some(text) = fill(template, arguments)? else { continue };
        if let (Some(TemplatePart::Argument(name)), false) =
            (template.parts().first(), is_past_options)
            && text.starts_with('-')
        {
            return Err(ArgumentError::Option { name: name.clone() });
        }
        if let Some(name) = template.arguments().next()
            && text.contains('\0')
        {
            return Err(ArgumentError::Nul { name: name.to_owned() });
        }
        is_past_options |= template.literal() == Some(END_OF_OPTIONS);
        argv.push(text);
    }
    Ok(argv)
}

/// The text of a template; `None` if one of its arguments is absent.
pub(super) fn fill(
    template: &Template,
    arguments: &Arguments<'_>,
) -> Result<Option<String>, ArgumentError> {
    let mut filled = String::new();
    for piece in template.parts() {
        match piece {
            TemplatePart::Text(text) => filled.push_str(text),
            TemplatePart::Argument(name) => match arguments.text(name)? {
                Some(text) => filled.push_str(&text),
                None => return Ok(None),
            },
        }
    }
    Ok(Some(filled))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use onecall_config::{CommandTool, Config, LocalToolKind};
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    fn tool(command: &[&str]) -> CommandTool {
        let schema = json!({ "properties": { "x": {}, "y": {} } });
        let tool = json!({ "name": "t", "command": command, "input_schema": schema });
        let text = json!({ "local_tools": [tool] }).to_string();
        let config = Config::parse(&text, Path::new("/c.json"), &|_| None).unwrap();
        match config.local_tools.into_iter().next().unwrap().kind {
            LocalToolKind::Command(tool) => tool,
            LocalToolKind::Files(_) => panic!("a command"),
        }
    }

    fn filled(command: &[&str], call: &serde_json::Value) -> Result<Vec<String>, String> {
        let tool = tool(command);
        let call = to_raw_value(call).unwrap();
        argv(&tool.arguments, &Arguments::read(&call, &tool.input_schema).unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_value_stays_within_its_argument() {
        for value in [
            "; rm -rf /",
            "$(id)",
            "`id`",
            "a b\tc",
            "a\nb\r\n-c",
            "'\"\\",
            "{y}",
            "{{",
            "*",
            "",
            "=--x",
            "\u{202e}é",
        ] {
            let call = json!({ "x": value, "y": "other" });
            let expected = ["{x}", value, &format!("a{value}b{value}"), "{}"];
            let command = ["prog", "{{x}}", "{x}", "a{x}b{x}", "{{}}"];
            assert_eq!(filled(&command, &call), Ok(expected.map(str::to_owned).to_vec()));
        }
    }

    #[test]
    fn a_value_does_not_become_an_option() {
        let refused = |command: &[&str], call: serde_json::Value| {
            let error = filled(command, &call).unwrap_err();
            assert!(error.contains("must not begin with '-'"), "{error}");
        };
        refused(&["prog", "{x}"], json!({ "x": "-rf" }));
        refused(&["prog", "{x}"], json!({ "x": "-" }));
        refused(&["prog", "{x}"], json!({ "x": "--" }));
        refused(&["prog", "{x}"], json!({ "x": -1 }));
        refused(&["prog", "{x}.txt"], json!({ "x": "--output=/etc/passwd" }));
        refused(&["prog", "{x}{y}"], json!({ "x": "", "y": "-rf" }));
        refused(&["prog", "-n", "{x}"], json!({ "x": "-rf" }));
        // An argument cannot end the options either.
        refused(&["prog", "--{x}", "{y}"], json!({ "x": "", "y": "-rf" }));
        refused(&["prog", "{x}", "--"], json!({ "x": "-rf" }));

        let dash = json!({ "x": "-1" });
        assert_eq!(filled(&["prog", "--", "{x}"], &dash).unwrap(), ["--", "-1"]);
        assert_eq!(filled(&["prog", "--n={x}"], &dash).unwrap(), ["--n=-1"]);
        assert_eq!(filled(&["prog", "./{x}"], &dash).unwrap(), ["./-1"]);
    }

    #[test]
    fn what_is_absent_leaves_out_its_argument() {
        let command = ["prog", "{x}", "--y={y}", "a{x}{y}", "last"];
        assert_eq!(filled(&command, &json!({ "x": null, "y": 5 })).unwrap(), ["--y=5", "last"]);
        assert_eq!(filled(&command, &json!({})).unwrap(), ["last"]);
        assert_eq!(
            filled(&["prog", "--x={x}"], &json!({ "x": "a\0b" })),
            Err("'x' holds a NUL character, which no command can take".to_owned())
        );
    }
}
