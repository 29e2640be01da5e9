//! Gives every object in a type a name, so that generated files can declare it.

use std::collections::HashSet;

use super::{Field, Note, Object, Type, Types};
use crate::casing::pascal_case;

/// The longest name in characters.
const MAX_NAME: usize = 80;
/// The largest number of declarations in one file; further objects become maps.
const MAX_DECLARATIONS: usize = 300;

/// The deepest nesting of aliases that is followed.
const MAX_ALIASES: usize = 8;

/// A type and the declarations it needs. References are indexes of declarations.
#[derive(Debug)]
pub(crate) struct DeclaredTypes {
    pub(crate) root: Type,
    pub(crate) declarations: Vec<Declaration>,
}

#[derive(Debug)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    pub(crate) note: Note,
    pub(crate) body: DeclarationBody,
}

#[derive(Debug)]
pub(crate) enum DeclarationBody {
    Fields(Object),
    Alias(Type),
}

impl DeclaredTypes {
    /// Declares `types` with names that begin with `base`. `taken` contains the names in use, and
    /// the new ones are added to it.
    pub(crate) fn new(types: &Types, base: &str, root: &str, taken: &mut HashSet<String>) -> Self {
        let mut builder = DeclarationBuilder {
            types,
            base,
            taken,
            declarations: Vec::new(),
            target_declarations: Vec::new(),
        };
        builder.target_declarations.resize(types.targets.len(), None);
        let root = builder.declare(&types.root, root);
        let declarations = builder.declarations.into_iter().flatten().collect();
        let mut declared = Self { root, declarations };
        declared.break_cycles();
        declared
    }

    /// The name of the root type, if it was declared.
    pub(crate) fn root_name(&self) -> Option<&str> {
        match self.root {
            Type::Reference(number) => self.name(number),
            _ => None,
        }
    }

    /// Whether every value of this type is an object.
    pub(crate) fn is_mapping(&self, value_type: &Type) -> bool {
        self.has_keys(value_type, MAX_ALIASES)
    }

    fn has_keys(&self, value_type: &Type, aliases: usize) -> bool {
        match value_type {
            Type::Map(_) | Type::Object(_) => true,
            Type::Union { alternatives, is_complete } => {
                *is_complete
                    && !alternatives.is_empty()
                    && alternatives.iter().all(|it| self.has_keys(it, aliases))
            }
            Type::Reference(number) => match self.declarations.get(*number).map(|it| &it.body) {
                Some(DeclarationBody::Fields(_)) => true,
                Some(DeclarationBody::Alias(alias)) => {
                    aliases > 0 && self.has_keys(alias, aliases - 1)
                }
                None => false,
            },
            _ => false,
        }
    }

    /// Replaces aliases that refer to themselves, directly or in a union: neither language accepts
    /// such a type.
    fn break_cycles(&mut self) {
        for number in 0..self.declarations.len() {
            if self.is_cyclic(number)
                && let Some(declaration) = self.declarations.get_mut(number)
            {
                declaration.body = DeclarationBody::Alias(Type::Any);
            }
        }
    }

    fn is_cyclic(&self, start: usize) -> bool {
        let (mut seen, mut waiting) = (HashSet::new(), vec![start]);
        while let Some(number) = waiting.pop() {
            let Some(DeclarationBody::Alias(alias)) =
                self.declarations.get(number).map(|it| &it.body)
            else {
                continue;
            };
            let named = direct_references(alias);
            if named.contains(&start) {
                return true;
            }
            waiting.extend(named.into_iter().filter(|it| seen.insert(*it)));
        }
        false
    }

    /// The name of a declaration.
    pub(crate) fn name(&self, number: usize) -> Option<&str> {
        self.declarations.get(number).map(|it| it.name.as_str())
    }
}

/// The declarations that an alias of this type refers to directly.
fn direct_references(value_type: &Type) -> Vec<usize> {
    match value_type {
        Type::Reference(number) => vec![*number],
        Type::Union { alternatives, .. } => {
            alternatives.iter().flat_map(direct_references).collect()
        }
        _ => Vec::new(),
    }
}

struct DeclarationBuilder<'a> {
    types: &'a Types,
    base: &'a str,
    taken: &'a mut HashSet<String>,
    /// `None` while a declaration is in progress; in the end all are present.
    declarations: Vec<Option<Declaration>>,
    target_declarations: Vec<Option<usize>>,
}

impl DeclarationBuilder<'_> {
    /// Replaces the objects in a type by declarations; `hint` describes what the type is for.
    fn declare(&mut self, value_type: &Type, hint: &str) -> Type {
        match value_type {
            Type::Object(object) => {
                let Some(number) = self.reserve() else { return Type::Map(None) };
                let name = self.name(hint);
                let fields = self.fields(object, &name);
                let body = DeclarationBody::Fields(Object { fields, ..*object });
                self.finish(number, Declaration { name, note: Note::default(), body });
                Type::Reference(number)
            }
            Type::Reference(target) => self.target(*target),
            Type::List(item) => Type::List(
                item.as_ref().map(|it| Box::new(self.declare(it, &format!("{hint} item")))),
            ),
            Type::Map(values) => Type::Map(
                values.as_ref().map(|it| Box::new(self.declare(it, &format!("{hint} value")))),
            ),
            Type::Tuple(items) => Type::Tuple(self.each(items, hint)),
            Type::Union { alternatives, is_complete } => Type::Union {
                alternatives: self.each(alternatives, hint),
                is_complete: *is_complete,
            },
            plain => plain.clone(),
        }
    }

    fn each(&mut self, types: &[Type], hint: &str) -> Vec<Type> {
        types.iter().map(|it| self.declare(it, hint)).collect()
    }

    fn fields(&mut self, object: &Object, name: &str) -> Vec<Field> {
        let inside = name.strip_prefix(self.base).unwrap_or(name).to_owned();
        let declared = |field: &Field, this: &mut Self| {
            // Names of nested types do not repeat that they belong to the arguments or the result.
            let hint = match inside.as_str() {
                "Arguments" | "Result" => field.name.clone(),
                inside => format!("{inside} {}", field.name),
            };
            Field { value_type: this.declare(&field.value_type, &hint), ..field.clone() }
        };
        object.fields.iter().map(|field| declared(field, self)).collect()
    }

    fn target(&mut self, target: usize) -> Type {
        if let Some(number) = self.target_declarations.get(target).copied().flatten() {
            return Type::Reference(number);
        }
        let (Some(found), Some(number)) = (self.types.targets.get(target), self.reserve()) else {
            return Type::Any;
        };
        if let Some(slot) = self.target_declarations.get_mut(target) {
            *slot = Some(number);
        }
        let hint = found.pointer.rsplit('/').next().filter(|it| !it.is_empty());
        let name = self.name(hint.unwrap_or("root"));
        let body = match &found.value_type {
            Type::Object(object) => {
                DeclarationBody::Fields(Object { fields: self.fields(object, &name), ..*object })
            }
            other => DeclarationBody::Alias(self.declare(other, hint.unwrap_or("root"))),
        };
        self.finish(number, Declaration { name, note: found.note.clone(), body });
        Type::Reference(number)
    }

    fn reserve(&mut self) -> Option<usize> {
        if self.declarations.len() == MAX_DECLARATIONS {
            return None;
        }
        self.declarations.push(None);
        Some(self.declarations.len() - 1)
    }

    fn finish(&mut self, number: usize, declaration: Declaration) {
        if let Some(slot) = self.declarations.get_mut(number) {
            *slot = Some(declaration);
        }
    }

    fn name(&mut self, hint: &str) -> String {
        free_name(self.base, hint, self.taken)
    }
}

/// A name for `hint` that is not in use yet.
pub(crate) fn free_name(base: &str, hint: &str, taken: &mut HashSet<String>) -> String {
    let name: String = (base.to_owned() + &pascal_case(hint)).chars().take(MAX_NAME).collect();
    let numbered = (2..).map(|number| format!("{name}{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|it| !taken.contains(it));
    let free = free.unwrap_or(name);
    taken.insert(free.clone());
    free
}
