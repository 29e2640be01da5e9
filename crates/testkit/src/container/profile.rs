//! Seccomp profiles as container engines read them: the JSON of the OCI runtime specification,
//! which Docker (`--security-opt seccomp=FILE`) and Kubernetes (`Localhost`) share.

use serde::{Deserialize, Serialize};

/// The system calls that a container may make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Profile {
    /// The action for calls without a rule.
    pub default_action: Action,
    /// The error number, if that action is a refusal.
    #[serde(rename = "defaultErrnoRet")]
    pub default_errno: u32,
    /// The processors that the calls belong to; calls of others end the process.
    pub architectures: Vec<String>,
    /// Calls with another action.
    #[serde(rename = "syscalls")]
    pub rules: Vec<Rule>,
}

/// An action for some calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Why the rule exists, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The names of the calls. Those that a processor does not have are ignored.
    pub names: Vec<String>,
    /// The action.
    pub action: Action,
    /// The error number, if the action is a refusal.
    #[serde(rename = "errnoRet", default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<u32>,
    /// Conditions for the arguments, all of which must hold.
    #[serde(rename = "args", default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// How a call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// The kernel executes the call.
    #[serde(rename = "SCMP_ACT_ALLOW")]
    Allow,
    /// The call fails with an error.
    #[serde(rename = "SCMP_ACT_ERRNO")]
    Refuse,
}

/// A comparison of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Condition {
    /// The index of the argument, counted from 0.
    pub index: u8,
    /// The value to compare with, or the mask.
    pub value: u64,
    /// The value to compare with after masking.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub value_two: u64,
    /// The kind of comparison.
    pub op: Operator,
}

/// How an argument is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    /// The argument equals the value.
    #[serde(rename = "SCMP_CMP_EQ")]
    Equal,
    /// The argument is less than the value.
    #[serde(rename = "SCMP_CMP_LT")]
    Less,
    /// The argument is greater than the value.
    #[serde(rename = "SCMP_CMP_GT")]
    Greater,
    /// The masked bits of the argument equal the second value.
    #[serde(rename = "SCMP_CMP_MASKED_EQ")]
    Masked,
}

impl Default for Profile {
    /// Allows everything.
    fn default() -> Self {
        let architectures = ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"].map(str::to_owned).into();
        Self { default_action: Action::Allow, default_errno: 0, architectures, rules: Vec::new() }
    }
}

impl Rule {
    /// Allows calls whose arguments fulfil all conditions.
    pub fn allow<'a>(
        names: impl IntoIterator<Item = &'a str>,
        conditions: impl IntoIterator<Item = Condition>,
    ) -> Self {
        let names = names.into_iter().map(str::to_owned).collect();
        let conditions = conditions.into_iter().collect();
        Self { comment: None, names, action: Action::Allow, errno: None, conditions }
    }

    /// Refuses calls with an error.
    pub fn refuse<'a>(names: impl IntoIterator<Item = &'a str>, errno: u32) -> Self {
        Self { action: Action::Refuse, errno: Some(errno), ..Self::allow(names, []) }
    }

    /// Adds the reason for the rule.
    #[must_use]
    pub fn because(self, reason: &str) -> Self {
        Self { comment: Some(reason.to_owned()), ..self }
    }
}

impl Condition {
    /// Compares an argument with a value.
    #[must_use]
    pub fn new(index: u8, op: Operator, value: u64) -> Self {
        Self { index, value, value_two: 0, op }
    }

    /// Compares the bits of an argument that are in `mask` with a value.
    #[must_use]
    pub fn masked(index: u8, mask: u64, value: u64) -> Self {
        Self { index, value: mask, value_two: value, op: Operator::Masked }
    }
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}
