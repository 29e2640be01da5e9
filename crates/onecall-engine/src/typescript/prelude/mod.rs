//! The JavaScript around a program: what printing, tools and the usual globals are.

use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, Function, Object, Result};

use super::wire;

macro_rules! part {
    ($name:literal) => {
        (concat!("<onecall>/", $name, ".js"), include_str!(concat!($name, ".js")))
    };
}

/// Each is a function of what the ones before it have made. Their file names are what
/// stack traces leave out.
const PARTS: [(&str, &str); 13] = [
    part!("originals"),
    part!("content"),
    part!("inspect"),
    part!("errors"),
    part!("console"),
    part!("table"),
    part!("locale"),
    part!("web"),
    part!("url"),
    part!("form"),
    part!("tools"),
    part!("cache"),
    part!("client"),
];

/// Gives the context its globals; returns what this side calls.
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
