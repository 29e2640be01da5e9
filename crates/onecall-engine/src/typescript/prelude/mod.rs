//! The prelude: JavaScript that runs before a program and provides console, tools and other
//! globals.

use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, Function, Object, Result};

use super::wire;

macro_rules! part {
    ($name:literal) => {
        (concat!("<onecall>/", $name, ".js"), include_str!(concat!($name, ".js")))
    };
}

/// The parts of the prelude. Each is a function that uses what the ones before it have created.
/// Stack traces leave out frames of these files.
const PARTS: [(&str, &str); 19] = [
    part!("originals"),
    part!("content"),
    part!("inspect"),
    part!("errors"),
    part!("console"),
    part!("table"),
    part!("locale"),
    part!("web"),
    part!("dates"),
    part!("url"),
    part!("plain"),
    part!("tools"),
    part!("display"),
    part!("files"),
    part!("process"),
    part!("hash"),
    part!("literals"),
    part!("cache"),
    part!("client"),
];

/// Creates the globals; returns the functions that the Rust code calls.
pub(super) fn install<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let hooks = Object::new_proto(ctx.clone(), None)?;
    hooks.set("native", wire::native(ctx)?)?;
    for (file, source) in PARTS {
        let mut options = EvalOptions::default();
        options.filename = Some(file.to_owned());
        let part: Function<'js> = ctx.eval_with_options(source, options)?;
        part.call::<_, ()>((hooks.clone(),))?;
    }
    Ok(hooks)
}
