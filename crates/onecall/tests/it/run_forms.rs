//! The ways to give `onecall run` a program, and what the program learns of them.

use crate::support::{CommandResult, Home, finish, has_system_python};

const ARGUMENTS: &str = "import sys\nprint(sys.argv)\n";

fn engines() -> Vec<&'static str> {
    if has_system_python() { vec!["python", "cpython"] } else { vec!["python"] }
}

fn stdout(home: &Home, arguments: &[&str]) -> String {
    let CommandResult { code, stdout, stderr } = finish(home.onecall(arguments));
    assert_eq!(code, Some(0), "{stderr}");
    stdout
}

/// What is said of a failure, up to the line that has the time in it.
fn stderr(home: &Home, arguments: &[&str]) -> String {
    let CommandResult { code, stderr, .. } = finish(home.onecall(arguments));
    assert_eq!(code, Some(1), "{stderr}");
    stderr.split("onecall: failed after ").next().unwrap().to_owned()
}

#[test]
fn a_program_finds_its_arguments() {
    let home = Home::new();
    home.write("report.py", ARGUMENTS);
    let file = home.text_path("report.py");
    for engine in engines() {
        let run = |more: &[&str]| stdout(&home, &[&["run", "--engine", engine], more].concat());
        assert_eq!(run(&[&file]), "['report.py']\n");
        assert_eq!(
            run(&[&file, "EU", "", "a b\né", "--", "--all", "-c"]),
            "['report.py', 'EU', '', 'a b\\né', '--all', '-c']\n"
        );
        assert_eq!(run(&["-e", ARGUMENTS, "EU", "x"]), "['-e', 'EU', 'x']\n");
        assert_eq!(run(&["--eval=print(-1)"]), "-1\n");
    }
}

#[test]
fn a_program_in_typescript_finds_its_arguments() {
    let home = Home::new();
    let shows = "console.log(JSON.stringify(process.argv))";
    home.write("report.ts", shows);
    let file = home.text_path("report.ts");
    assert_eq!(stdout(&home, &["run", &file]), "[\"onecall\",\"report.ts\"]\n");
    assert_eq!(
        stdout(&home, &["run", &file, "EU", "", "a b\né", "--", "--all", "-c"]),
        "[\"onecall\",\"report.ts\",\"EU\",\"\",\"a b\\né\",\"--all\",\"-c\"]\n"
    );
    let evaluated = ["run", "--language", "typescript", "-e", shows, "EU", "x"];
    assert_eq!(stdout(&home, &evaluated), "[\"onecall\",\"-e\",\"EU\",\"x\"]\n");
}

#[test]
fn tracebacks_name_the_file_of_the_program() {
    let home = Home::new();
    home.write("report.py", "def load():\n    raise ValueError('<program>')\n\nload()\n");
    home.write("unknown.py", "mcp__sales__orders()\n");
    home.write("broken.py", "print(1\n");
    home.write("report.ts", "function load(): void { throw new Error('no'); }\nload();\n");
    let said: Vec<String> = ["report.py", "unknown.py", "broken.py", "report.ts"]
        .map(|file| stderr(&home, &["run", &home.text_path(file)]))
        .into();
    insta::assert_snapshot!(said.join("\n"));
    let preview = finish(home.onecall(&["run", "--dry-run", &home.text_path("broken.py")]));
    assert!(preview.stdout.contains("File \"broken.py\", line"), "{}", preview.stdout);
    let unnamed = stderr(&home, &["run", "-e", "raise ValueError(1)"]);
    assert!(unnamed.contains("File \"<program>\", line 1, in <module>"), "{unnamed}");
}
