//! Finds messages in Rust: string literals, the attributes `#[error("…")]`, and the doc comments
//! that clap prints as help. Modules are followed from the root of a crate by their declarations,
//! so what is compiled only for tests is left out, wherever its file is.

use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, ExprCall, ExprMethodCall, Field, Fields, ImplItemConst, ImplItemFn, Item,
    ItemConst, ItemEnum, ItemFn, ItemImpl, ItemMod, ItemStatic, ItemStruct, ItemTrait, Lit, Macro,
    Meta, Pat, TraitItemFn, Type, Variant,
};

use crate::dependencies::read;

use super::attributes::{
    attributes_of, derives, documentation, is_for_tests, is_of_clap, is_skipped, names,
};
use super::kind::Kind;
use super::text::is_message;
use super::{Message, relative};

/// Functions and methods that compare or cut a text; their literals are shown to nobody.
const COMPARING: [&str; 16] = [
    "contains",
    "starts_with",
    "ends_with",
    "strip_prefix",
    "strip_suffix",
    "trim_start_matches",
    "trim_end_matches",
    "split",
    "split_once",
    "rsplit_once",
    "find",
    "rfind",
    "replace",
    "replacen",
    "expect",
    "expect_err",
];

/// Macros whose literals are compared, read by the compiler or shown only if the code is wrong.
const INTERNAL: [&str; 10] = [
    "matches",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "unreachable",
    "panic",
    "compile_error",
    "include_str",
];

/// The messages of a crate, module by module.
pub(super) fn messages(crate_root: &Path) -> Result<Vec<Message>, String> {
    let mut messages = Vec::new();
    let mut files = vec![crate_root.to_path_buf()];
    while let Some(path) = files.pop() {
        let (found, modules) = of_source(&relative(&path), &read(&path)?)?;
        messages.extend(found);
        for module in modules {
            files.push(file_of(&path, &module)?);
        }
    }
    Ok(messages)
}

/// The messages of one source file, and the modules that it declares as other files.
fn of_source(file: &str, source: &str) -> Result<(Vec<Message>, Vec<String>), String> {
    let parsed =
        syn::parse_file(source).map_err(|error| format!("cannot parse '{file}': {error}"))?;
    let mut finder = Finder {
        file,
        kinds: vec![Kind::of_file(file)],
        places: Vec::new(),
        messages: Vec::new(),
        modules: Vec::new(),
    };
    finder.visit_file(&parsed);
    Ok((finder.messages, finder.modules))
}

/// The file of a module that `parent` declares.
fn file_of(parent: &Path, module: &str) -> Result<PathBuf, String> {
    let owns_folder = ["lib.rs", "main.rs", "mod.rs"];
    let name = parent.file_name().unwrap_or_default().to_string_lossy();
    let folder = if owns_folder.contains(&name.as_ref()) {
        parent.parent().unwrap_or(parent).to_path_buf()
    } else {
        parent.with_extension("")
    };
    let candidates = [folder.join(format!("{module}.rs")), folder.join(module).join("mod.rs")];
    candidates
        .into_iter()
        .find(|path| path.exists())
        .ok_or_else(|| format!("the module '{module}' of '{}' has no file", relative(parent)))
}

/// Collects the messages of one file.
struct Finder<'a> {
    file: &'a str,
    /// The kind of what is visited; the last one applies.
    kinds: Vec<Kind>,
    /// The names around what is visited, from the outside in.
    places: Vec<String>,
    messages: Vec<Message>,
    modules: Vec<String>,
}

impl Finder<'_> {
    fn add(&mut self, text: String) {
        self.add_labelled(text, "");
    }

    /// Adds a text if it is a message; `label` follows the name of its place.
    fn add_labelled(&mut self, text: String, label: &str) {
        let kind = self.kinds.last().copied();
        if let Some(kind) = kind.filter(|_| is_message(&text)) {
            let inner = self.places.len().saturating_sub(2);
            let place = self.places.get(inner..).unwrap_or_default().join("::") + label;
            self.messages.push(Message { kind, file: self.file.to_owned(), place, text });
        }
    }

    fn within(&mut self, place: impl ToString, visit: impl FnOnce(&mut Self)) {
        self.places.push(place.to_string());
        visit(self);
        self.places.pop();
    }

    fn as_kind(&mut self, kind: Option<Kind>, visit: impl FnOnce(&mut Self)) {
        match kind {
            Some(kind) => {
                self.kinds.push(kind);
                visit(self);
                self.kinds.pop();
            }
            None => visit(self),
        }
    }

    /// Adds every literal in the arguments of a macro, also of macros in it, but not in attributes.
    fn add_tokens(&mut self, tokens: TokenStream, label: &str) {
        let mut is_attribute = false;
        for token in tokens {
            let follows_hash = is_attribute;
            is_attribute = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
            match token {
                TokenTree::Group(_) if follows_hash => {}
                TokenTree::Group(group) => self.add_tokens(group.stream(), label),
                TokenTree::Literal(literal) => {
                    if let Some(text) = text_of(&Lit::new(literal)) {
                        self.add_labelled(text, label);
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    /// Adds what clap prints for an item: its doc comment, or the texts of its attributes.
    fn add_help(&mut self, attributes: &[Attribute]) {
        self.as_kind(Some(Kind::Help), |finder| {
            if !attributes.iter().any(is_skipped) {
                finder.add(documentation(attributes));
            }
            let of_clap = ["command", "arg", "value"];
            for attribute in attributes.iter().filter(|attribute| names(attribute, &of_clap)) {
                if let Meta::List(list) = &attribute.meta {
                    finder.add_tokens(list.tokens.clone(), "");
                }
            }
        });
    }

    /// Adds the help of the fields of a clap type.
    fn add_help_of_fields(&mut self, fields: &Fields) {
        for Field { ident, attrs, .. } in fields {
            match ident {
                Some(name) => self.within(name, |finder| finder.add_help(attrs)),
                None => self.add_help(attrs),
            }
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes_of(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        match &module.content {
            Some(_) => visit::visit_item_mod(self, module),
            None => self.modules.push(module.ident.to_string()),
        }
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.within(&item.ident, |finder| {
            if is_of_clap(&item.attrs) {
                for variant in &item.variants {
                    finder.within(&variant.ident, |finder| {
                        finder.add_help(&variant.attrs);
                        finder.add_help_of_fields(&variant.fields);
                    });
                }
            }
            visit::visit_item_enum(finder, item);
        });
    }

    fn visit_variant(&mut self, variant: &'ast Variant) {
        self.within(&variant.ident, |finder| visit::visit_variant(finder, variant));
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.within(&item.ident, |finder| {
            if is_of_clap(&item.attrs) {
                // The doc comment of arguments is printed only for the whole command line.
                let has_own_help = derives(&item.attrs, &["Parser"]);
                let is_help = |attribute: &&Attribute| has_own_help || !names(attribute, &["doc"]);
                let attributes: Vec<Attribute> =
                    item.attrs.iter().filter(is_help).cloned().collect();
                finder.add_help(&attributes);
                finder.add_help_of_fields(&item.fields);
            }
            visit::visit_item_struct(finder, item);
        });
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let (true, Meta::List(list)) = (names(attribute, &["error"]), &attribute.meta) {
            let tokens = list.tokens.clone();
            self.as_kind(Some(Kind::Error), |finder| finder.add_tokens(tokens, ""));
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let name = match item.self_ty.as_ref() {
            Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        match name {
            Some(name) => self.within(name, |finder| visit::visit_item_impl(finder, item)),
            None => visit::visit_item_impl(self, item),
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            self.within(&item.sig.ident, |finder| visit::visit_impl_item_fn(finder, item));
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.within(&item.sig.ident, |finder| visit::visit_item_fn(finder, item));
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.within(&item.ident, |finder| visit::visit_item_trait(finder, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.within(&item.sig.ident, |finder| visit::visit_trait_item_fn(finder, item));
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        self.within(&item.ident, |finder| visit::visit_item_const(finder, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast ImplItemConst) {
        self.within(&item.ident, |finder| visit::visit_impl_item_const(finder, item));
    }

    fn visit_item_static(&mut self, item: &'ast ItemStatic) {
        self.within(&item.ident, |finder| visit::visit_item_static(finder, item));
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        let name = match call.func.as_ref() {
            Expr::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        let kind = name.as_deref().and_then(Kind::of_call);
        // A configuration key is the better name of its description.
        let key = call.args.first().filter(|_| name.as_deref() == Some("key")).and_then(literal);
        self.as_kind(kind, |finder| match key {
            Some(key) => finder.within(key, |finder| visit::visit_expr_call(finder, call)),
            None => visit::visit_expr_call(finder, call),
        });
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.visit_expr(&call.receiver);
        let name = call.method.to_string();
        if !COMPARING.contains(&name.as_str()) {
            self.as_kind(Kind::of_call(&name), |finder| {
                call.args.iter().for_each(|argument| finder.visit_expr(argument));
            });
        }
    }

    /// Literals in patterns are compared, not shown.
    fn visit_pat(&mut self, pattern: &'ast Pat) {
        if !matches!(pattern, Pat::Lit(_)) {
            visit::visit_pat(self, pattern);
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let name = call.path.segments.last().map(|segment| segment.ident.to_string());
        let name = name.unwrap_or_default();
        if INTERNAL.contains(&name.as_str()) {
            return;
        }
        if name == "concat" {
            let parts = call.tokens.clone().into_iter().filter_map(|token| match token {
                TokenTree::Literal(literal) => text_of(&Lit::new(literal)),
                _ => None,
            });
            return self.add(parts.collect());
        }
        let kind = Kind::of_macro(&name);
        let label = if kind == Some(Kind::Log) { format!(" ({name})") } else { String::new() };
        self.as_kind(kind, |finder| finder.add_tokens(call.tokens.clone(), &label));
    }

    fn visit_lit(&mut self, literal: &'ast Lit) {
        if let Some(text) = text_of(literal) {
            self.add(text);
        }
    }
}

/// The text of a string literal, also of one of bytes.
pub(super) fn text_of(literal: &Lit) -> Option<String> {
    match literal {
        Lit::Str(text) => Some(text.value()),
        Lit::ByteStr(bytes) => String::from_utf8(bytes.value()).ok(),
        _ => None,
    }
}

fn literal(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Lit(literal) => text_of(&literal.lit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages in a source file as `kind place: text`, and the modules.
    fn found(file: &str, source: &str) -> String {
        let (messages, modules) = of_source(file, source).expect("Rust");
        let line = |message: &Message| {
            format!("{:?} {}: {}\n", message.kind, message.place, message.text.trim())
        };
        messages.iter().map(line).chain(modules).collect()
    }

    #[test]
    fn the_construct_decides_the_kind() {
        let source = r#"
            const HELP: &str = "type a program";
            #[derive(Debug, Error)]
            enum ReadError {
                #[error("cannot read '{path}': {reason}", path = path.display())]
                Unreadable { path: PathBuf, reason: String },
            }
            impl Reader {
                fn read(&self) -> Result<(), String> {
                    warn!(%server, "the server has {} tools", "far too many");
                    println!("read {} of them", count);
                    let size = size.map_err(|error| format!("no size: it is {error}"))?;
                    bail!("cannot read it");
                }
            }
        "#;
        insta::assert_snapshot!(found("crates/onecall/src/reader.rs", source), @"
        Terminal HELP: type a program
        Error ReadError::Unreadable: cannot read '{path}': {reason}
        Log Reader::read (warn): the server has {} tools
        Log Reader::read (warn): far too many
        Terminal Reader::read: read {} of them
        Error Reader::read: no size: it is {error}
        Error Reader::read: cannot read it
        ");
    }

    #[test]
    fn what_is_compared_or_only_for_tests_is_left_out() {
        let source = r#"
            #[cfg(test)]
            mod checks;
            mod parts;
            fn is_known(text: &str) -> bool {
                match text {
                    "a known text" => "it is known".is_empty(),
                    _ => text.starts_with("this is known") || matches!(text, "that is known"),
                }
            }
            wrapped! {
                /// About the type.
                struct Wrapper;
            }
            #[test]
            fn it_works() { assert!(is_known("of a test")); }
            #[cfg(test)]
            mod tests { const TEXT: &str = "of a test"; }
        "#;
        insta::assert_snapshot!(found("crates/onecall-core/src/known.rs", source), @"
        Answer is_known: it is known
        parts
        ");
    }

    #[test]
    fn help_is_what_clap_prints() {
        let source = r#"
            /// Not printed: arguments of a command.
            #[derive(Args, Debug)]
            struct RunArguments {
                /// The file
                /// to run
                #[arg(long, value_name = "FILE")]
                file: PathBuf,
                /// Not printed.
                #[arg(skip)]
                known: bool,
            }
            #[derive(Debug, Subcommand)]
            enum Command {
                /// Run a program
                #[command(after_help = "Example:\n  onecall run it")]
                Run(RunArguments),
            }
        "#;
        insta::assert_snapshot!(found("crates/onecall/src/cli.rs", source), @"
        Help RunArguments::file: The file to run
        Help Command::Run: Run a program
        Help Command::Run: Example:
          onecall run it
        ");
    }

    #[test]
    fn a_configuration_key_names_its_description() {
        let source = r#"
            const LIMITS: &[Key] = &[key("max_tools", Kind::Flag, "", "How many tools there are.")];
        "#;
        let expected = "Key LIMITS::max_tools: How many tools there are.\n";
        assert_eq!(found("crates/onecall-config/src/schema/keys.rs", source), expected);
    }
}
