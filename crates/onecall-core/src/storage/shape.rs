//! The storage trait for result shapes: the structure of tool answers, learned from earlier
//! answers.

use super::StoreError;

/// Identifies the tool whose answers a shape describes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShapeKey {
    /// The server's name in the configuration.
    pub server: String,
    /// The tool as its server names it.
    pub tool: String,
    /// Identifies the version of the tool's definition; a new definition starts with an empty
    /// shape.
    pub schema: String,
}

/// The learned shape of the answers of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredShape {
    /// How many answers it was learned from.
    pub samples: u64,
    /// The shape as JSON, in a format that only the component that learns shapes reads.
    pub shape: String,
}

/// Stores learned shapes.
pub trait ShapeStore: Send + Sync {
    /// The learned shape of the answers of a tool.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn shape(&self, key: &ShapeKey) -> Result<Option<StoredShape>, StoreError>;

    /// Replaces the learned shape of a tool.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn put_shape(&self, key: &ShapeKey, shape: &StoredShape) -> Result<(), StoreError> {
        self.update_shape(key, &mut |_| Some(shape.clone()))
    }

    /// Passes the stored shape to `change` and stores the result; `None` leaves it unchanged. The
    /// update is atomic: no other thread or process can write in between.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn update_shape(
        &self,
        key: &ShapeKey,
        change: &mut dyn FnMut(Option<StoredShape>) -> Option<StoredShape>,
    ) -> Result<(), StoreError>;

    /// Removes the learned shape of a tool.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn forget_shape(&self, key: &ShapeKey) -> Result<(), StoreError>;

    /// All learned shapes.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn shapes(&self) -> Result<Vec<(ShapeKey, StoredShape)>, StoreError>;
}
