//! Which variables are chosen. Each case is the source and the fast names, separated by blanks.

use onecall_core::Language;

use crate::program::ParsedProgram;

fn fast_names(source: &str) -> String {
    ParsedProgram::new(source, Language::Python).fast_names().join(" ")
}

fn check(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(fast_names(source), *expected, "{source}");
    }
}

#[test]
fn variables_of_loops_are_fast() {
    check(&[
        ("s = 0\nfor i in range(9): s += i\nprint(s)", "s i"),
        ("n = 3\nwhile n: n -= 1", "n"),
        ("rows = await mcp__a__b()\nfor row in rows:\n  x, *y = row\n  z: int = x", "row x y z"),
        ("t = 0\nif 1:\n  for i in r: t = t + i", "t i"),
        ("k = 2\nfor i in r:\n  print(i * k)", "k i"),
        ("async for a in b: c = a", "a c"),
    ]);
}

#[test]
fn without_a_loop_there_are_none() {
    check(&[
        ("x = 1\nprint(x)", ""),
        ("x = 1\nfor i in r: print(i)\nprint(x)", "i"),
        ("def f():\n  for i in r: print(i)\nf()", ""),
        ("x = [i for i in r]", ""),
    ]);
}

#[test]
fn names_that_inner_scopes_use_stay_in_the_module() {
    check(&[
        ("for i in r: s = i\ndef f(): return i", "s"),
        ("for i in r: s = i\ndef f():\n  global s\n  s = 1", "i"),
        ("for i in r: s = i\nclass A:\n  i = i", "s"),
        ("for i in r: s = lambda: i", "s"),
        ("for i in r: s = [i for _ in r]", "s"),
        ("for i in r: s = [k for k in i]", "i s"),
        ("for i in r: s = [k for j in r for k in i]", "s"),
        ("for i in r: s = (k for k in i if k)", "i s"),
        ("for i in r: s = [(t := k) for k in i]\nt = 1\nfor t in r: pass", "i s"),
        ("for i in r: print(i)\ndef f():\n  def g():\n    nonlocal i\n    i = 1", ""),
        ("for i in r: s = i\ndef f():\n  i = 1\n  def g():\n    global i", "s"),
        ("for i in r: s = i\ntype A = list[i]", "s"),
        ("for i in r: s = i\ndef f[T: i](): pass", "s"),
        ("for i in r: s = i\nclass A[T](i): pass", "s"),
    ]);
}

#[test]
fn names_that_inner_scopes_bind_themselves_do_not_count() {
    check(&[
        ("for i in r: s = i\ndef f(i):\n  s = i\n  return s", "i s"),
        ("for i in r: s = [i for i in r]", "i s"),
        ("for i in r: s = sorted(r, key=lambda i: -i)", "i s"),
        ("for i in r: s = i\ndef f():\n  for i in r: pass\n  with r as s: return i, s", "i s"),
        ("for i in r: s = i\nclass A:\n  s = 1\n  def i(self): pass", "i s"),
    ]);
}

#[test]
fn names_in_annotations_stay_in_the_module() {
    check(&[
        ("for i in r: s = i\nx: i = 1", "s"),
        ("for i in r: s = i\ndef f(a: 'dict[str, i]') -> s: pass", ""),
        ("for i in r: s = i\nclass A:\n  a: 'i'", "s"),
    ]);
}

#[test]
fn names_that_are_bound_in_other_ways_stay_in_the_module() {
    check(&[
        ("for f in r: s = f\ndef f(): pass", "s"),
        ("for A in r: s = A\nclass A: pass", "s"),
        ("for i in r:\n  import json as j, os.path\n  j = 1\n  os = 2", "i"),
        ("for i in r:\n  try: pass\n  except E as e: s = e", "i s"),
        ("for i in r:\n  s = 1\n  del s", "i"),
        ("global g\nfor i in r: g = i", "i"),
        ("for P in r: print(P)\nP = namedtuple('P', 'x y')\nfor i in r: P(i)", "i"),
        ("for i in r: P = namedtuple(typename='P', field_names='x')", "i"),
        ("for type in r: x = type", "x"),
        ("for ValueError in r: x = ValueError", "x"),
        ("for sum in r: x = sum", "x"),
        ("for i in r: tools = mcp__a__b = i", "i"),
        ("for i in r: _A__x = __y = i", "i"),
        ("for ä in r: x = ä", "x"),
    ]);
}

#[test]
fn names_that_may_be_read_too_early_stay_in_the_module() {
    check(&[
        ("for i in r: s = i\nprint(s, i)", ""),
        ("for i in r: x += i", "i"),
        ("for i in r:\n  print(x)\n  x = i", "i"),
        ("if a: x = 1\nfor i in r: print(x)", "i"),
        ("if a: x = 1\nelse: x = 2\nfor i in r: print(x)", "x i"),
        ("if a: x = 1\nelif b: y = 2\nelse: x = 2\nfor i in r: print(x)", "i"),
        ("if a: x = 1\nelse: raise E\nfor i in r: print(x)", "x i"),
        ("try: x = 1\nexcept E: pass\nfor i in r: print(x)", "i"),
        ("try: x = 1\nexcept E: x = 2\nfor i in r: print(x)", "x i"),
        ("try: x = 1\nexcept E: print(x)\nfor i in r: print(x)", "i"),
        ("try: pass\nfinally: x = 1\nfor i in r: print(x)", "x i"),
        ("try: x = 1\nfinally: print(x)\nfor i in r: print(x)", "i"),
        ("try: pass\nexcept E: pass\nelse: x = 1\nfor i in r: print(x)", "i"),
        ("with a: x = 1\nfor i in r: print(x)", "i"),
        ("with a as x:\n  for i in r: print(x)", "x i"),
        ("a and (x := 1)\nfor i in r: print(x)", "i"),
        ("(x := 1) and a\nfor i in r: print(x)", "x i"),
        ("a < (x := 1) < (y := 2)\nfor i in r: print(x, y)", "x i"),
        ("(x := 1) if a else (y := 2)\nfor i in r: print(x, y)", "i"),
        ("assert a, (x := 1)\nfor i in r: print(x)", "i"),
        ("match a:\n  case [x]: pass\nfor i in r: print(x)", "i"),
        ("match a:\n  case [x]: pass\n  case x: pass\nfor i in r: print(x)", "x i"),
        ("match a:\n  case {'k': 1, **x} if x: print(x)\nfor i in r: i = i", "i"),
        ("x: int\nfor i in r: print(x)\nx = 1", "i"),
        ("def f(a=x): pass\nx = 1\nfor i in r: print(x)", "i"),
        ("x = [x for x in x]\nfor i in r: print(x)", "i"),
    ]);
}

#[test]
fn loops_end_in_several_ways() {
    check(&[
        ("while True:\n  x = 1\n  if x: break\nfor i in r: print(x)", "x i"),
        ("while True:\n  if a: break\n  x = 1\nfor i in r: print(x)", "i"),
        ("while a:\n  x = 1\n  break\nfor i in r: print(x)", "i"),
        ("while (x := a()): pass\nfor i in r: print(x)", "x i"),
        ("for i in r: break\nelse: i = 1\nprint(i)", "i"),
        ("for i in r: pass\nelse: x = 1\nwhile x: print(x)", "i x"),
        ("for i in r:\n  x = 1\n  break\nelse: pass\nwhile x: print(x)", "i"),
        ("for i in r:\n  if i: continue\n  x = 1\n  print(x)", "i x"),
    ]);
}

#[test]
fn a_program_that_may_look_at_itself_has_none() {
    let programs = [
        "print(globals())",
        "print(locals())",
        "vars()",
        "dir()",
        "f = vars",
        "dir(*a)",
        "eval('i')",
        "exec('i')",
        "import __main__",
        "from sys import modules",
        "sys.modules",
        "sys._getframe()",
        "x = '_getframe'",
        "getattr(sys, 'modules')",
        "operator.attrgetter('tb_frame.f_locals')(e)",
        "print.__self__.globals()",
        "from os import *",
        "import inspect",
        "from concurrent import futures; import pickle",
        "import unittest.mock",
        "e.__traceback__.tb_frame",
        "f.__globals__",
        "typing.get_type_hints(f)",
        "traceback.format(capture_locals=True)",
        "x = '__main__'",
        "def f(): return globals()",
        "return 1",
    ];
    for program in programs {
        assert_eq!(fast_names(&format!("for i in r: print(i)\n{program}")), "", "{program}");
    }
}

#[test]
fn looking_at_other_objects_is_allowed() {
    let programs = [
        "print(vars(a), dir(a))",
        "if __name__ == '__main__': pass",
        "a.__dict__",
        "re.compile('a')",
        "import sys, json, traceback",
        "row['modules'], row.get('locals'), getattr(row, 'name')",
        "code = 1",
    ];
    for program in programs {
        assert_eq!(fast_names(&format!("for i in r: print(i)\n{program}")), "i", "{program}");
    }
}

#[test]
fn a_program_that_cannot_be_parsed_has_none() {
    assert_eq!(fast_names("for i in r: print(i)\nx ="), "");
    let other = ParsedProgram::new("for (const i of r) print(i)", Language::TypeScript);
    assert_eq!(other.fast_names(), Vec::<String>::new());
}

#[test]
fn there_is_a_largest_number() {
    let lines: Vec<String> = (0..300).map(|number| format!("  x{number} = i")).collect();
    let names = fast_names(&format!("for i in r:\n{}", lines.join("\n")));
    assert_eq!(names.split(' ').count(), 200);
}
