//! Merges types that must all apply to a value, as in `allOf`.

use super::{Field, Object, Type};

/// Merges object types into one with the fields of all; parts without information are ignored.
/// `is_complete` tells whether `types` contains all parts.
pub(super) fn merge_types(types: Vec<Type>, is_complete: bool) -> Type {
    let mut known: Vec<Type> = types.into_iter().filter(|it| *it != Type::Any).collect();
    if known.len() <= 1 {
        return known.pop().unwrap_or(Type::Any);
    }
    let mut all = Object { fields: Vec::new(), is_complete, allows_other_keys: false };
    for part in known {
        match part {
            Type::Object(object) => {
                all.is_complete &= object.is_complete;
                all.allows_other_keys |= object.allows_other_keys;
                object.fields.into_iter().for_each(|field| add(&mut all, field));
            }
            Type::Map(_) => all.allows_other_keys = true,
            // Merging other types would require a complete validator.
            _ => return Type::Any,
        }
    }
    if all.fields.is_empty() { Type::Map(None) } else { Type::Object(all) }
}

fn add(object: &mut Object, field: Field) {
    match object.fields.iter_mut().find(|known| known.name == field.name) {
        Some(known) => {
            known.required |= field.required;
            if known.value_type == Type::Any {
                *known = Field { required: known.required, ..field };
            }
        }
        None => object.fields.push(field),
    }
}
