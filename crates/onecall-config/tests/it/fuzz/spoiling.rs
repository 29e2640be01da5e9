//! Mistakes in a configuration that is otherwise valid: a value of another kind, a key
//! too much, too little, misspelt or given twice.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::document::{KEYS, VALUES};
use super::writing::Tree;

#[derive(Clone, Debug)]
pub(crate) enum Mistake {
    Value(Tree),
    Rename(String),
    Repeat,
    Remove,
}

pub(crate) fn mistake() -> impl Strategy<Value = Mistake> {
    let words = ["null", "true", "0", "-1", "1.5", "1e999", "99999999999999999999"];
    let value = prop_oneof![
        4 => select(VALUES).prop_map(|text| Tree::Text(text.to_owned())),
        4 => any::<String>().prop_map(|text| Tree::Text(format!("{text}${{SECRET}}\u{7}"))),
        2 => select(words.to_vec()).prop_map(|word| Tree::Word(word.to_owned())),
        1 => Just(Tree::List(Vec::new())),
        1 => Just(Tree::List(vec![Tree::Word("1".to_owned()), Tree::Mapping(Vec::new())])),
        1 => Just(Tree::Mapping(Vec::new())),
    ];
    let key = prop_oneof![
        select(KEYS).prop_map(str::to_owned),
        any::<String>(),
        Just("A=${SECRET}".to_owned()),
    ];
    prop_oneof![
        4 => value.prop_map(Mistake::Value),
        2 => key.prop_map(Mistake::Rename),
        1 => Just(Mistake::Repeat),
        1 => Just(Mistake::Remove),
    ]
}

impl Tree {
    /// Makes the mistake at one of the nodes.
    pub(crate) fn insert_mistake(&mut self, at: Index, mistake: Mistake) {
        let mut places = at.index(self.descendants().max(1));
        if let Tree::Mapping(_) | Tree::List(_) = self {
            self.insert_mistake_below(&mut places, mistake);
        }
    }

    /// How many nodes are below this one.
    fn descendants(&self) -> usize {
        let count = |child: &Tree| 1 + child.descendants();
        match self {
            Tree::Word(_) | Tree::Text(_) => 0,
            Tree::List(items) => items.iter().map(count).sum(),
            Tree::Mapping(entries) => entries.iter().map(|(_, value)| count(value)).sum(),
        }
    }

    /// Counts `places` down; the mistake is left over if they are not all below.
    fn insert_mistake_below(
        &mut self,
        places: &mut usize,
        mut mistake: Mistake,
    ) -> Option<Mistake> {
        let children: Vec<&mut Tree> = match self {
            Tree::Word(_) | Tree::Text(_) => Vec::new(),
            Tree::List(items) => items.iter_mut().collect(),
            Tree::Mapping(entries) => entries.iter_mut().map(|(_, value)| value).collect(),
        };
        let mut here = None;
        for (index, child) in children.into_iter().enumerate() {
            if *places == 0 {
                here = Some(index);
                break;
            }
            *places -= 1;
            mistake = child.insert_mistake_below(places, mistake)?;
        }
        let Some(index) = here else { return Some(mistake) };
        match (self, mistake) {
            (Tree::List(items), Mistake::Value(value)) => items[index] = value,
            (Tree::List(items), Mistake::Repeat) => items.push(items[index].clone()),
            (Tree::List(items), Mistake::Rename(_) | Mistake::Remove) => {
                items.remove(index);
            }
            (Tree::Mapping(entries), Mistake::Value(value)) => entries[index].1 = value,
            (Tree::Mapping(entries), Mistake::Rename(key)) => entries[index].0 = key,
            (Tree::Mapping(entries), Mistake::Repeat) => entries.push(entries[index].clone()),
            (Tree::Mapping(entries), Mistake::Remove) => {
                entries.remove(index);
            }
            (Tree::Word(_) | Tree::Text(_), _) => {}
        }
        None
    }
}
