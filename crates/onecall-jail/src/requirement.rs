//! What a configuration demands of the sandbox.

use crate::Property;

/// What to do where no wall of this machine holds a property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Refuse to run programs, unless the configuration does without that property.
    #[default]
    Required,
    /// Run them behind the walls there are, if these hold [`Property::FLOOR`].
    BestEffort,
    /// Build none; only the limits of a program hold.
    Off,
}

/// Which properties have to hold before a program runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirement {
    /// What to do where no wall holds a property.
    pub mode: Mode,
    /// Properties that the configuration does without.
    pub without: Vec<Property>,
}

impl Requirement {
    /// Whether programs run only if this property holds.
    #[must_use]
    pub fn demands(&self, property: Property) -> bool {
        let is_demanded = match self.mode {
            Mode::Required => true,
            Mode::BestEffort => Property::FLOOR.contains(&property),
            Mode::Off => false,
        };
        is_demanded && !self.without.contains(&property)
    }

    /// How a configuration runs programs where this property does not hold.
    #[must_use]
    pub fn way_out(&self, property: Property) -> String {
        match self.mode {
            Mode::Required => format!("accept that with `sandbox_without: [{}]`", property.name()),
            Mode::BestEffort | Mode::Off => {
                "run programs without any wall with `sandbox: off`".to_owned()
            }
        }
    }
}
