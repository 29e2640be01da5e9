//! Digests of texts and bytes, for `crypto.subtle.digest` and `createHash`.

use hmac::digest::block_api::BlockSizeUser;
use hmac::{KeyInit, Mac, SimpleHmac};
use md5::Md5;
use rquickjs::{Ctx, Exception, FromJs, Function, Object, Result, TypedArray, Value};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// Adds `hash(algorithm, key, parts)` to the native functions. A part is a text, which stands for
/// its UTF-8, or an array of bytes; so is the key, which is `null` for a plain digest.
pub(super) fn add_to<'js>(native: &Object<'js>, ctx: &Ctx<'js>) -> Result<()> {
    native.set("hash", Function::new(ctx.clone(), hash)?)
}

/// The digest of all parts together; `None` for an unknown algorithm.
fn hash<'js>(
    ctx: Ctx<'js>,
    algorithm: String,
    key: Value<'js>,
    parts: Vec<Value<'js>>,
) -> Result<Option<TypedArray<'js, u8>>> {
    let key = if key.is_null() { None } else { Some(bytes_of(&ctx, key)?) };
    let parts: Vec<Vec<u8>> =
        parts.into_iter().map(|part| bytes_of(&ctx, part)).collect::<Result<_>>()?;
    let key = key.as_deref();
    let digest = match algorithm.as_str() {
        "md5" => digest_of::<Md5>(key, &parts),
        "sha1" => digest_of::<Sha1>(key, &parts),
        "sha224" => digest_of::<Sha224>(key, &parts),
        "sha256" => digest_of::<Sha256>(key, &parts),
        "sha384" => digest_of::<Sha384>(key, &parts),
        "sha512" => digest_of::<Sha512>(key, &parts),
        _ => return Ok(None),
    };
    match digest {
        Some(digest) => TypedArray::new(ctx, digest).map(Some),
        None => Err(Exception::throw_range(&ctx, "the key is too long")),
    }
}

fn bytes_of<'js>(ctx: &Ctx<'js>, part: Value<'js>) -> Result<Vec<u8>> {
    match part.as_string() {
        Some(text) => text.to_string().map(String::into_bytes),
        None => Vec::from_js(ctx, part),
    }
}

/// The digest of all parts, or with a key their message authentication code.
fn digest_of<D: Digest + BlockSizeUser>(key: Option<&[u8]>, parts: &[Vec<u8>]) -> Option<Vec<u8>> {
    let Some(key) = key else {
        let mut digest = D::new();
        parts.iter().for_each(|part| digest.update(part));
        return Some(digest.finalize().to_vec());
    };
    let mut code = SimpleHmac::<D>::new_from_slice(key).ok()?;
    parts.iter().for_each(|part| Mac::update(&mut code, part));
    Some(code.finalize().into_bytes().to_vec())
}
