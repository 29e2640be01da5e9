//! What of Python's standard library the embedded interpreter lacks: exactly what is written down,
//! and a program that needs it runs on the system's Python or says where it is.

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::{Gateway, failed, has_system_python, printed};

/// The modules of CPython 3.11 to 3.14 with their public names; `public_names.py` writes it.
const PUBLIC_NAMES: &str = include_str!("../../../../tests/modules/public_names.txt");

/// What the engine takes the embedded interpreter to lack.
const ABSENT: &str = include_str!("../../../onecall-engine/src/python/absent.txt");

const ENGINES_CHAPTER: &str = include_str!("../../../../docs/engines.md");

const TELL: &str = "\nimport platform\nprint(platform.python_implementation())";

/// The modules that are missing as a whole, but for those below another one that is missing.
fn absent_modules() -> Vec<&'static str> {
    let modules: BTreeSet<_> =
        PUBLIC_NAMES.lines().filter_map(|line| Some(line.split_once(':')?.0)).collect();
    let absent: BTreeSet<_> = ABSENT.lines().filter(|name| modules.contains(name)).collect();
    let is_below =
        |name: &str| name.rsplit_once('.').is_some_and(|(above, _)| absent.contains(above));
    absent.iter().copied().filter(|name| !is_below(name)).collect()
}

#[test]
fn the_list_of_what_is_absent_is_true() {
    let mut gateway = Gateway::with_config(&json!({}));
    let look = include_str!("../../../../tests/modules/absent.py");
    let code = format!("PUBLIC_NAMES = '''{PUBLIC_NAMES}'''\n{look}");
    let printed = printed(&gateway.execute_on("python", &code));
    let mut found: Vec<_> = printed.lines().collect();
    found.sort_unstable();
    assert_eq!(found, ABSENT.lines().collect::<Vec<_>>());
}

#[test]
fn the_book_lists_the_modules_that_are_absent() {
    let (_, section) = ENGINES_CHAPTER.split_once("The embedded one lacks these modules").unwrap();
    let (section, _) = section.split_once("\n\nand ").unwrap();
    let listed: BTreeSet<_> = section.split('`').skip(1).step_by(2).collect();
    assert_eq!(listed, absent_modules().into_iter().collect());
}

#[test]
fn a_program_that_imports_an_absent_module_runs_where_it_is() {
    if !has_system_python() {
        return;
    }
    let mut gateway = Gateway::with_config(&json!({}));
    for module in absent_modules() {
        let code = format!("import {module}{TELL}");
        let on_cpython = gateway.execute_on("cpython", &code);
        let chosen = gateway.execute_on("auto", &code);
        if on_cpython.is_error {
            let reason = failed(&chosen);
            assert!(reason.contains("\nModuleNotFoundError: No module named"), "{reason}");
        } else {
            assert_eq!(printed(&chosen), "CPython\n", "{module}");
        }
    }
}

#[test]
fn every_way_to_import_is_seen_before_a_program_runs() {
    if !has_system_python() {
        return;
    }
    let mut gateway = Gateway::with_config(&json!({}));
    let on_cpython = [
        "import importlib\nimportlib.import_module('sqlite3')",
        "from importlib import import_module as load\ndef later():\n    load('sqlite3.dbapi2')\nlater()",
        "def later():\n    from importlib import import_module\n    import_module('sqlite3')\nlater()",
        "__import__('ssl')",
        "from multiprocessing import sharedctypes",
        "import multiprocessing.sharedctypes",
        "from http.client import HTTPConnection, HTTPSConnection",
        "import http.client\nhttp.client.HTTPSConnection",
        "import http.client as client\nclient.HTTPSConnection",
        "import os\ndef later():\n    return os.sched_getaffinity(0)\nlater()",
        "try:\n    from http.client import HTTPSConnection\nexcept ImportError:\n    HTTPSConnection = None",
        "try:\n    import importlib, importlib.util\n    importlib.import_module('sqlite3')\nfinally:\n    pass",
    ];
    for code in on_cpython {
        let answer = gateway.execute_on("auto", &format!("{code}{TELL}"));
        assert_eq!(printed(&answer), "CPython\n", "{code}");
    }
    let embedded = [
        // Names of missing modules that mean something else here.
        "class os:\n    sched_getaffinity = 1\nos.sched_getaffinity",
        "import locale\n'{}'.format(locale.str(1.5))",
        "print('sqlite3', end='')\nload = str\nload('sqlite3')",
        // A module is an attribute of its package after any import of it.
        "from email import message\nfrom xml import etree, dom, sax",
        // No engine has this module, and the program continues without it.
        "import os\ntry:\n    import nobody_has_this.part\nexcept ImportError:\n    pass",
    ];
    for code in embedded {
        let answer = gateway.execute_on("auto", &format!("{code}{TELL}"));
        let printed = printed(&answer);
        assert_eq!(printed.trim_start_matches("sqlite3"), "RustPython\n", "{code}");
    }
}

#[test]
fn an_error_says_which_engine_has_what_is_missing() {
    let mut gateway = Gateway::with_config(&json!({}));
    let last = |text: String| text.lines().last().unwrap_or_default().to_owned();
    let mut on_python = |code| last(failed(&gateway.execute_on("python", code)));
    let advice = |name: &str| {
        format!(
            "The embedded Python has no '{name}'. Run the program with engine: cpython if the \
             system's Python has it."
        )
    };
    assert_eq!(on_python("import sqlite3"), advice("sqlite3"));
    assert_eq!(on_python("import pandas.api"), advice("pandas"));
    assert_eq!(on_python("from smtplib import SMTP_SSL"), advice("smtplib.SMTP_SSL"));
    assert_eq!(on_python("import os\nos.sched_getaffinity(0)"), advice("os.sched_getaffinity"));
    assert_eq!(
        on_python("from json import nothing"),
        "ImportError: cannot import name 'nothing' from 'json' (unknown location)"
    );
    // With `auto`, what is put together while the program runs is not seen before.
    let dynamic =
        gateway.execute_on("auto", "import importlib\nimportlib.import_module('sqlite' + str(3))");
    assert_eq!(last(failed(&dynamic)), advice("sqlite3"));
    let nowhere = gateway.execute_on("auto", "import nobody_has_this");
    let python_is_there = has_system_python();
    if python_is_there {
        assert_eq!(
            last(failed(&nowhere)),
            "Neither the embedded Python nor the system's has 'nobody_has_this'. `python` in the \
             configuration can name an interpreter or a virtual environment that has it."
        );
    }

    let mut alone = Gateway::with_config(&json!({ "python": "/nowhere/python" }));
    assert_eq!(
        last(failed(&alone.execute_on("auto", "import sqlite3"))),
        "The embedded Python has no 'sqlite3', and the system's Python (engine: cpython) cannot be \
         used: /nowhere/python cannot be started: No such file or directory (os error 2); set \
         `python` to a CPython from 3.11 on"
    );
}

#[test]
fn a_text_of_xml_is_read_as_it_is_whatever_encoding_it_declares() {
    let mut gateway = Gateway::with_config(&json!({}));
    let code = r#"
        import xml.dom.minidom
        import xml.etree.ElementTree as ET
        text = '<?xml version="1.0" encoding="ISO-8859-1" standalone="yes"?>\n<a>Zürich €</a>'
        print(ET.fromstring(text).text)
        print(xml.dom.minidom.parseString(text).documentElement.firstChild.data)
        print(ET.fromstring(text.replace(' €', '').encode('latin-1')).text)
        print(ET.fromstring('<a encoding="x">ü</a>').attrib)
    "#;
    let expected = "Zürich €\nZürich €\nZürich\n{'encoding': 'x'}\n";
    assert_eq!(printed(&gateway.execute_on("python", code)), expected);
    if has_system_python() {
        assert_eq!(printed(&gateway.execute_on("cpython", code)), expected);
    }
}

#[test]
fn xml_that_is_not_well_formed_is_an_error() {
    let mut gateway = Gateway::with_config(&json!({}));
    let code = r#"
        import io, plistlib, xml.dom.minidom, xml.sax
        import xml.etree.ElementTree as ET
        broken = ['<a><b></a>', '<a>', '<a>&undefined;</a>', '', '<a b=1></a>', 'text', '<a><b>1</b>']
        for text in broken:
            for parse in (
                ET.fromstring,
                lambda text: list(ET.iterparse(io.BytesIO(text.encode()))),
                lambda text: ET.parse(io.StringIO(text)),
                xml.dom.minidom.parseString,
                lambda text: xml.sax.parseString(text, xml.sax.ContentHandler()),
                lambda text: plistlib.loads(text.encode(), fmt=plistlib.FMT_XML),
            ):
                try:
                    print('parsed', text, parse(text))
                except (ET.ParseError, xml.parsers.expat.ExpatError, xml.sax.SAXParseException) as error:
                    assert 'line 1' in str(error) or ':1:' in str(error), error
        try:
            ET.fromstring('<a>\n<b></a>')
        except ET.ParseError as error:
            print(error.code in (4, 7), error.position[0])
        whole = '<?xml version="1.0"?><!-- c --><a x="1">t<b/>\n<c>&lt;</c></a>\n<!-- d -->'
        print(ET.tostring(ET.fromstring(whole)).decode())
        print(xml.dom.minidom.parseString(whole).documentElement.getAttribute('x'))
        parser = ET.XMLPullParser(['start', 'end'])
        for character in '<a><b>1</b></a>':
            parser.feed(character)
        parser.close()
        print([(event, element.tag) for event, element in parser.read_events()])
        print(plistlib.loads(plistlib.dumps({'a': [1, True, 'x']})))
    "#;
    let expected = "True 2\n<a x=\"1\">t<b />\n<c>&lt;</c></a>\n1\n\
        [('start', 'a'), ('start', 'b'), ('end', 'b'), ('end', 'a')]\n{'a': [1, True, 'x']}\n";
    assert_eq!(printed(&gateway.execute_on("python", code)), expected);
    if has_system_python() {
        assert_eq!(printed(&gateway.execute_on("cpython", code)), expected);
    }
}

#[test]
fn a_pool_of_threads_works_without_semaphores_of_the_kernel() {
    let mut gateway = Gateway::with_config(&json!({}));
    let code = r#"
        import multiprocessing
        from multiprocessing.dummy import Pool
        from multiprocessing.pool import ThreadPool
        with ThreadPool(3) as pool:
            print(pool.map(abs, [-1, -2]), sorted(pool.imap_unordered(len, ['a', 'bb'])))
            print(pool.apply_async(pow, (2, 5)).get())
        pool = Pool(2)
        later = pool.starmap_async(pow, [(2, 3), (3, 2)])
        pool.close()
        pool.join()
        print(later.get())
        lock, again, event = multiprocessing.Lock(), multiprocessing.RLock(), multiprocessing.Event()
        with lock, again, again:
            print(lock, again, lock.acquire(block=False))
        counted = multiprocessing.BoundedSemaphore(1)
        print(counted.acquire(), counted.acquire(timeout=0.01), counted.release())
        try:
            counted.release()
        except ValueError as error:
            print(error)
        event.set()
        queue = multiprocessing.Queue()
        queue.put({'a': 1})
        print(event.wait(1), queue.get())
    "#;
    let expected = "[1, 2] [1, 2]\n32\n[8, 9]\n\
        <Lock(owner=MainProcess)> <RLock(MainProcess, 2)> False\n\
        True False None\nsemaphore or lock released too many times\nTrue {'a': 1}\n";
    assert_eq!(printed(&gateway.execute_on("python", code)), expected);
    if has_system_python() {
        assert_eq!(printed(&gateway.execute_on("cpython", code)), expected);
    }
}
