//! What the answers of tools look like, as far as they have been seen.

use super::StoreError;

/// Whose answers a shape describes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShapeKey {
    /// The server's name in the configuration.
    pub server: String,
    /// The tool as its server names it.
    pub tool: String,
    /// Tells the tool's definitions apart: another one begins anew.
    pub schema: String,
}

/// What is known about the answers of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredShape {
    /// How many answers it was learned from.
    pub samples: u64,
    /// As JSON; only those who learn shapes know what it says.
    pub shape: String,
}

/// Remembers shapes.
pub trait Shapes: Send + Sync {
    /// What is known about the answers of a tool.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn shape(&self, key: &ShapeKey) -> Result<Option<StoredShape>, StoreError>;

    /// Replaces what is known.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn put_shape(&self, key: &ShapeKey, shape: &StoredShape) -> Result<(), StoreError> {
        self.update_shape(key, &mut |_| Some(shape.clone()))
    }

    /// Lets `change` say what becomes of what is known; `None` leaves it as it is. Nobody,
    /// in no process, can write in between.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn update_shape(
        &self,
        key: &ShapeKey,
        change: &mut dyn FnMut(Option<StoredShape>) -> Option<StoredShape>,
    ) -> Result<(), StoreError>;

    /// Forgets what is known about the answers of a tool.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn forget_shape(&self, key: &ShapeKey) -> Result<(), StoreError>;

    /// Everything that is known.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn shapes(&self) -> Result<Vec<(ShapeKey, StoredShape)>, StoreError>;
}
