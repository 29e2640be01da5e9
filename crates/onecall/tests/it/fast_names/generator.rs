//! Generates Python programs at random: loops, branches, exceptions, functions and classes that use
//! the same few variables in every way.

use crate::durable::Random;

const NAMES: [&str; 9] = ["a", "b", "c", "d", "n", "row", "total", "item", "_x"];

/// The deepest nesting of blocks.
const MAX_DEPTH: usize = 4;

/// What every program can use. `Noisy` shows how long an object lives; `Quiet` suppresses exceptions.
const BEGINNING: &str = "\
import asyncio
class Noisy:
    def __init__(self, number): self.number = number
    def __del__(self): print('gone', self.number)
    def __repr__(self): return f'Noisy({self.number})'
class Quiet:
    def __enter__(self): return 5
    def __exit__(self, *error): return True
    async def __aenter__(self): return 6
    async def __aexit__(self, *error): return True
async def numbers(count):
    for number in range(count): yield number
";

/// The program with this number.
pub(super) fn program(number: u64) -> String {
    let mut generator = Generator {
        random: Random(number),
        lines: Vec::new(),
        depth: 0,
        loops: 0,
        helpers: 0,
        is_async: false,
    };
    generator.is_async = generator.chance(40);
    generator.program();
    format!("{BEGINNING}{}\n", generator.lines.join("\n"))
}

struct Generator {
    random: Random,
    lines: Vec<String>,
    depth: usize,
    /// The loops around the current place.
    loops: usize,
    /// The number of functions, classes and counters so far; each gets a name of its own.
    helpers: u32,
    /// Whether the program may await something.
    is_async: bool,
}

impl Generator {
    fn program(&mut self) {
        if self.chance(5) {
            let name = self.name();
            self.line(&format!("global {name}"));
        }
        for name in NAMES {
            if self.chance(70) {
                let value = self.value();
                self.line(&format!("{name} = {value}"));
            }
        }
        for _ in 0..2 + self.below(5) {
            self.statement();
        }
        for name in NAMES {
            if self.chance(25) {
                self.line("try:");
                self.inside(|it| it.line(&format!("print('{name}', {name})")));
                self.line("except NameError as error: print(type(error).__name__, error)");
            }
        }
    }

    fn statement(&mut self) {
        let kinds = if self.depth < MAX_DEPTH { 27 } else { 14 };
        match self.below(kinds) {
            0 | 1 => self.assignment(),
            2 | 3 => {
                let (name, value) = (self.name(), self.expression());
                let operator = self.pick(&["+=", "-=", "*=", "|="]);
                self.line(&format!("{name} {operator} {value}"));
            }
            4 | 5 => {
                let (name, value) = (self.name(), self.expression());
                self.line(&format!("print({name}, {value})"));
            }
            6 => {
                let (name, other) = (self.name(), self.name());
                self.line(&format!("print(f'{{{name}!r:>4}} {{{other}=}}')"));
            }
            7 => self.comprehension(),
            8 => {
                let (name, value) = (self.name(), self.expression());
                let condition = self.condition();
                self.line(&format!(
                    "if {condition} and ({name} := {value}): print('named', {name})"
                ));
            }
            9 => self.rarely(),
            10 if self.loops > 0 => {
                let (condition, how) = (self.condition(), self.pick(&["break", "continue"]));
                self.line(&format!("if {condition}: {how}"));
            }
            11 if self.is_async => self.line("await asyncio.sleep(0)"),
            12 => {
                let (name, number) = (self.name(), self.below(9));
                self.line(&format!("{name} = Noisy({number})"));
            }
            10 | 11 | 13 => self.assignment(),
            14..=17 => self.for_loop(),
            18 => self.while_loop(),
            19 | 20 => self.branches(),
            21 | 22 => self.exceptions(),
            23 => self.context(),
            24 => self.matching(),
            25 => self.function(),
            _ => self.class(),
        }
    }

    fn assignment(&mut self) {
        let (name, other) = (self.name(), self.name());
        let (value, second) = (self.expression(), self.expression());
        let line = match self.below(8) {
            0 => format!("{name}, {other} = {value}, {second}"),
            1 => format!("{name}, *{other} = {value}, {second}, 3"),
            2 => format!("{name}: int = {value}"),
            3 => format!("{name} = {other} = {value}"),
            4 => format!("{name} = (lambda {other}: {value})({second})"),
            5 => format!("{name} = (lambda: {value})()"),
            _ => format!("{name} = {value}"),
        };
        self.line(&line);
    }

    fn comprehension(&mut self) {
        let (name, other) = (self.name(), self.name());
        let (value, condition) = (self.expression(), self.condition());
        let line = match self.below(5) {
            0 => format!("{name} = [{value} for {other} in range(3) if {condition}]"),
            1 => format!("{name} = sum({value} for {other} in range(3))"),
            2 => format!("{name} = {{{other}: {value} for {other} in range(2)}}"),
            3 => format!("{name} = len([{other} for _ in range(2) for {other} in range(2)])"),
            _ => format!("{name} = [({other} := {value}) for _ in range(2)]"),
        };
        self.line(&line);
    }

    /// What few programs do, or what makes a variable stay in the module.
    fn rarely(&mut self) {
        let name = self.name();
        let line = match self.below(9) {
            0 => format!("del {name}"),
            1 => format!("import math as {name}"),
            2 => format!("{name}: int"),
            3 => "sum = sum([1, 2])".to_owned(),
            4 => format!("max = {name}"),
            5 => format!("raise ValueError({name})"),
            6 => format!("assert {name}, {name}"),
            7 => format!("{name} = 'ab' * 2"),
            _ => format!("print(undefined_{name})"),
        };
        self.line(&line);
    }

    fn for_loop(&mut self) {
        let (name, other) = (self.name(), self.name());
        let count = self.below(4);
        match self.below(6) {
            0 => self.line(&format!("for {name}, {other} in enumerate('xyz'[:{count}]):")),
            1 => self.line(&format!("for {name} in [{other}, {count}]:")),
            2 if self.is_async => self.line(&format!("async for {name} in numbers({count}):")),
            _ => self.line(&format!("for {name} in range({count}):")),
        }
        self.looping();
    }

    fn while_loop(&mut self) {
        let counter = self.helper("left");
        let count = self.below(4);
        self.line(&format!("{counter} = {count}"));
        if self.chance(30) {
            self.line("while True:");
            self.inside(|it| it.line(&format!("if not {counter}: break")));
        } else {
            self.line(&format!("while {counter}:"));
        }
        self.inside(|it| it.line(&format!("{counter} -= 1")));
        self.looping();
    }

    fn looping(&mut self) {
        self.loops += 1;
        self.block();
        self.loops -= 1;
        if self.chance(15) {
            self.line("else:");
            self.block();
        }
    }

    fn branches(&mut self) {
        let condition = self.condition();
        self.line(&format!("if {condition}:"));
        self.block();
        if self.chance(30) {
            let condition = self.condition();
            self.line(&format!("elif {condition}:"));
            self.block();
        }
        if self.chance(50) {
            self.line("else:");
            self.block();
        }
    }

    fn exceptions(&mut self) {
        self.line("try:");
        self.block();
        let catches = self.chance(80);
        if catches {
            let error = if self.chance(20) { self.name() } else { "error" };
            let kind = self.pick(&["Exception", "NameError", "(TypeError, NameError, ValueError)"]);
            self.line(&format!("except {kind} as {error}:"));
            self.inside(|it| it.line(&format!("print(type({error}).__name__, {error})")));
            self.block();
            if self.chance(20) {
                self.line("else:");
                self.block();
            }
        }
        if !catches || self.chance(25) {
            self.line("finally:");
            // A jump out of `finally` is a warning in newer versions.
            let loops = std::mem::take(&mut self.loops);
            self.block();
            self.loops = loops;
        }
    }

    fn context(&mut self) {
        let name = self.name();
        let prefix = if self.is_async && self.chance(50) { "async " } else { "" };
        self.line(&format!("{prefix}with Quiet() as {name}:"));
        self.block();
    }

    fn matching(&mut self) {
        let (name, other, value) = (self.name(), self.name(), self.expression());
        self.line(&format!("match [{value}, 2]:"));
        let guard = self.condition();
        self.inside(|it| {
            it.line(&format!("case [1, {name}]:"));
            it.block();
            it.line(&format!("case [*{name}] if {guard}:"));
            it.block();
            if it.chance(50) {
                it.line(&format!("case {other}:"));
                it.block();
            }
        });
    }

    fn function(&mut self) {
        let function = self.helper("function");
        let (parameter, name, default) = (self.name(), self.name(), self.expression());
        let value = self.expression();
        self.line(&format!("def {function}({parameter}={default}):"));
        let is_global = parameter != name && self.chance(30);
        self.inside(|it| {
            if is_global {
                it.line(&format!("global {name}"));
            }
            if is_global || it.chance(40) {
                it.line(&format!("{name} = {value}"));
            }
            it.line(&format!("return {value}"));
        });
        if self.chance(80) {
            self.line(&format!("print({function}())"));
        }
    }

    fn class(&mut self) {
        let class = self.helper("Class");
        let (name, value) = (self.name(), self.expression());
        self.line(&format!("class {class}:"));
        self.inside(|it| {
            it.line(&format!("{name} = {value}"));
            if it.chance(50) {
                it.line(&format!("def method(self): return {value}"));
            }
        });
        self.line(&format!("print({class}.{name}, {class}.__qualname__)"));
    }

    fn block(&mut self) {
        self.inside(|it| {
            for _ in 0..1 + it.below(3) {
                it.statement();
            }
        });
    }

    fn expression(&mut self) -> String {
        let (name, value) = (self.name(), self.value());
        match self.below(9) {
            0 => value,
            1 | 2 => name.to_owned(),
            3 => format!("{name} + {value}"),
            4 => format!("{name} * 2 - {value}"),
            5 => format!("({name} if {name} else {value})"),
            6 => format!("len(str({name}))"),
            7 => format!("({name} or {value})"),
            _ => format!("{value} - {name}"),
        }
    }

    fn condition(&mut self) -> String {
        let (name, other, value) = (self.name(), self.name(), self.value());
        match self.below(5) {
            0 => format!("{name} == {value}"),
            1 => format!("str({name}) < str({other})"),
            2 => format!("{name} is not {other}"),
            3 => format!("not {name}"),
            _ => name.to_owned(),
        }
    }

    fn value(&mut self) -> String {
        self.below(5).to_string()
    }

    fn name(&mut self) -> &'static str {
        self.pick(&NAMES)
    }

    fn helper(&mut self, kind: &str) -> String {
        self.helpers += 1;
        format!("{kind}{}", self.helpers)
    }

    fn line(&mut self, text: &str) {
        self.lines.push(format!("{}{text}", "    ".repeat(self.depth)));
    }

    fn inside(&mut self, write: impl FnOnce(&mut Self)) {
        self.depth += 1;
        write(self);
        self.depth -= 1;
    }

    fn pick(&mut self, choices: &[&'static str]) -> &'static str {
        let at = usize::try_from(self.below(choices.len() as u64)).unwrap();
        choices[at]
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.below(end)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
