//! The properties that a configuration demands of the sandbox.

use crate::Property;

/// What to do if no wall of this machine holds a property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JailMode {
    /// Programs are not run, unless the configuration does not demand the property.
    #[default]
    Required,
    /// Programs run with the walls that can be built, if these hold [`Property::MINIMUM`].
    BestEffort,
    /// No walls are built; only the limits of a program apply.
    Off,
}

/// The properties that must hold before a program runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirement {
    /// What to do if no wall holds a property.
    pub mode: JailMode,
    /// Properties that the configuration does not demand.
    pub without: Vec<Property>,
}

impl Requirement {
    /// Whether this property must hold before a program runs.
    #[must_use]
    pub fn demands(&self, property: Property) -> bool {
        let is_demanded = match self.mode {
            JailMode::Required => true,
            JailMode::BestEffort => Property::MINIMUM.contains(&property),
            JailMode::Off => false,
        };
        is_demanded && !self.without.contains(&property)
    }

    /// How the user can run programs although this property does not hold.
    #[must_use]
    pub fn workaround(&self, property: Property) -> String {
        match self.mode {
            JailMode::Required => {
                format!("accept that with `sandbox_without: [{}]`", property.name())
            }
            JailMode::BestEffort | JailMode::Off => {
                "run programs without any wall with `sandbox: off`".to_owned()
            }
        }
    }
}
