//! The gateway: bridged servers, policy, and the runtime for programs, independent of the interface
//! (MCP over stdio, HTTP or command line) that uses it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use onecall_bridge::{
    Bridge, ConnectionOptions, Downloads, GatewayClients, Guard, PinStorage, QuarantinedTool,
    ServerStart, ServerState, ServerStatus,
};
use onecall_catalog::ObservedOutput;
use onecall_config::{ApprovalSettings, Config, OptionalTool, OutputTypeSource, ServerConfig};
use onecall_core::storage::{AuditEvent, AuditTrail, DurableStore, FleetStore, Users};
use onecall_core::{
    AccessPolicy, CallableName, Failure, Outcome, Program, RunLimits, ServerName, ToolCategory,
    ToolSpec, WorkspaceAccess,
};
use onecall_engine::Engines;
use onecall_login::{HandedOut, SecretObserver, UserCredentials, UserVault};
use onecall_policy::PolicyErrors;
use onecall_runtime::{
    AuditWriter, Cache, CallRates, Directory, LearnedTypes, Metrics, MetricsState, NameLookup,
    Observer, Plan, PlanAnswer, PlanFailure, PlanProblems, PlanRequest, Preview, Recorder,
    Redactor, RunOptions, SaveError, Sessions, StoreQueue, StoreWriter, TokenCounter, UserAccess,
};
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::sync::watch;

use crate::drain::Drain;
use crate::durable::{DurableRuns, RunAnswer, RunRequest};
use crate::exposed::{Exposure, ListCache};
use crate::fleet::{Fleet, UsageCounters};
use crate::identities::Identities;
use crate::list_changes::{ExposedWatch, ListChanges};
use crate::listing_store::ListingStore;
use crate::pin_watch::pin_storage;
use crate::plan::PlanTools;
use crate::policies::load_policies;
use crate::readiness::Readiness;
use crate::rules::{ProgramRules, SharedServices};
use crate::tool_folder::ToolFolder;
use crate::unused::unused_entries;
use crate::user_bridges::UserBridges;
use crate::user_logins::{PersonalTokenProof, UserLogins};
use crate::views::UserViews;
use crate::{audit_writer, record_settings, revision, settings};

/// How long a shutdown waits for pending writes to the store.
const STORE_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long each writer may take at least, also if the store has used up the time.
const LAST_CHANCE: Duration = Duration::from_millis(200);

/// Why there is no store for durable runs, approvals and the audit trail.
pub(crate) const NO_STORE: &str = "onecall cannot find your state directory, where the store is: set HOME or \
                        XDG_STATE_HOME, or `path` under `store` in the configuration";

/// A running gateway, as one user sees it. The local user sees the gateway that was started;
/// [`Gateway::for_principal`] returns it as other users see it.
pub struct Gateway {
    /// The user, and the policy that decides about the user's calls.
    pub(crate) access: UserAccess,
    /// The servers whose tools the user can reach.
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) guard: Guard,
    /// The rules of the current configuration, for programs of the user that begin now.
    pub(crate) rules: watch::Sender<Arc<ProgramRules>>,
    pub(crate) shared: Arc<SharedServices>,
    /// Writes to the store, if there is one.
    pub(crate) store: Option<Arc<StoreWriter>>,
    /// The current configuration.
    pub(crate) config: Arc<Mutex<Config>>,
    pub(crate) revision: OnceLock<watch::Receiver<u64>>,
    pub(crate) list_changes: OnceLock<ListChanges>,
    /// The gateway as other users see it.
    pub(crate) views: UserViews,
    /// What clients may use directly.
    pub(crate) exposure: Exposure,
    /// The exposed resources and prompts that servers listed last.
    pub(crate) lists: ListCache,
    /// The folder in which programs find a file for each tool, if there is one.
    pub(crate) tool_folder: Option<Arc<ToolFolder>>,
    /// Whether the audit trail says that this gateway serves clients.
    pub(crate) is_serving: AtomicBool,
    /// Logins of users to servers, if there are users and pages for them.
    pub(crate) user_logins: Option<Arc<UserLogins>>,
}

/// Where a gateway keeps data outside its memory. Each of these is optional.
#[derive(Default)]
pub struct GatewayStorage {
    /// Writes to the store, which outlives this process.
    pub store: Option<Arc<StoreWriter>>,
    /// The folder with tool files that engines mount for programs.
    pub tool_folder: Option<ToolFolder>,
    /// Remembers servers whose command downloads what it runs.
    pub downloads: Downloads,
    /// The store for durable runs and approvals. Without it, runs for which the configuration needs
    /// one are refused.
    pub durable: Option<Arc<dyn DurableStore>>,
    /// The store for the audit trail. Without it, calls for which the configuration needs one are
    /// refused.
    pub audit: Option<Arc<dyn AuditTrail>>,
    /// Secrets and logins of users, and the logins to shared servers unless they are in files. Without
    /// it, users have no credentials of their own.
    pub user_vault: Option<UserVault>,
    /// The users and their personal tokens.
    pub users: Option<Arc<dyn Users>>,
    /// The store of the gateways that share it. Without it, this gateway does not find the others.
    pub fleet: Option<Arc<dyn FleetStore>>,
}

/// No tool that programs may call has this name, or several have it. The display text is for
/// models; [`Self::explanation`] is for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Error)]
#[error("[Tool not found] '{name}' is not available in execute_program{}", self.details())]
pub struct ToolNotFound {
    /// The name that was looked up.
    pub name: String,
    /// Similar names, if the name is unknown.
    pub nearest: Vec<CallableName>,
    /// The tools that share the name, if there are several.
    pub candidates: Vec<CallableName>,
    /// Why the tool is in quarantine, if it exists.
    pub quarantine: Option<String>,
}

impl ToolNotFound {
    /// Explains what is wrong with the name, and which names to write instead.
    #[must_use]
    pub fn explanation(&self) -> String {
        let name = &self.name;
        match &self.quarantine {
            Some(why) => format!("the tool '{name}' is quarantined: {why}"),
            None if !self.candidates.is_empty() => format!(
                "several tools are named '{name}': write one of {}",
                quoted(&self.candidates)
            ),
            None if self.nearest.is_empty() => {
                format!("there is no tool '{name}'; `onecall tools` lists all tools")
            }
            None => format!("there is no tool '{name}'. Did you mean: {}?", quoted(&self.nearest)),
        }
    }

    fn details(&self) -> String {
        match &self.quarantine {
            Some(why) => format!("\nIt is quarantined: {why}"),
            None if !self.candidates.is_empty() => {
                format!("\nSeveral tools have this name: {}", quoted(&self.candidates))
            }
            None if self.nearest.is_empty() => String::new(),
            None => format!("\nDid you mean: {}?", quoted(&self.nearest)),
        }
    }
}

fn quoted(names: &[CallableName]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

/// Adds the secrets and tokens of users that are used to what records and the audit trail leave out. A link to the login
/// page is not added: it can be used once, and there is no end of them.
fn secret_observer(
    recorder: Option<Arc<Recorder>>,
    audit: Option<Arc<AuditWriter>>,
) -> SecretObserver {
    Arc::new(move |what, secret| {
        if what == HandedOut::Link {
            return;
        }
        if let Some(recorder) = &recorder {
            recorder.add_secrets(Redactor::new([secret.reveal()]));
        }
        if let Some(audit) = &audit {
            audit.add_secrets(Redactor::new([secret.reveal()]));
        }
    })
}

/// The servers that all users share: those that run with no credentials of users.
pub(crate) fn shared_servers(servers: &[ServerConfig]) -> Vec<ServerConfig> {
    servers.iter().filter(|server| !server.is_per_user()).cloned().collect()
}

/// The logins of users, if the configuration says at which address their pages are.
fn user_logins(
    config: &Config,
    vault: Option<&Arc<UserVault>>,
    users: Option<Arc<dyn Users>>,
    fleet: Option<&Arc<Fleet>>,
) -> Option<Arc<UserLogins>> {
    let public_url = config.users.as_ref()?.public_url.as_deref()?;
    let proof = Arc::new(PersonalTokenProof::new(users?));
    let gateway = fleet.map(|fleet| fleet.id().clone());
    let logins = UserLogins::new(Arc::clone(vault?), public_url, gateway).with_proof(proof);
    logins.set_servers(&config.servers);
    Some(Arc::new(logins))
}

impl Gateway {
    /// Starts a gateway and returns at once; its servers start as `start` says. Must be called
    /// inside a tokio runtime.
    ///
    /// # Errors
    /// If the policies of the configuration cannot be used.
    pub fn start(
        config: Config,
        start: ServerStart,
        engines: Engines,
        guard: Guard,
        storage: GatewayStorage,
    ) -> Result<Arc<Self>, PolicyErrors> {
        let GatewayStorage {
            store,
            tool_folder,
            downloads,
            durable,
            audit,
            user_vault,
            users: user_store,
            fleet: fleet_store,
        } = storage;
        let exposure = Exposure::new(&config);
        let keeps_display_metadata = exposure.has_tools();
        let limits = config.limits;
        let vault = user_vault.map(Arc::new);
        let options = ConnectionOptions {
            limits,
            start,
            keeps_display_metadata,
            downloads,
            vault: vault.clone(),
            pins: pin_storage(fleet_store.as_ref()),
            ..ConnectionOptions::default()
        };
        let policies = load_policies(&config)?;
        let (servers, local) = (shared_servers(&config.servers), config.local_tools.clone());
        let bridge = Bridge::start_with(servers, local, guard.clone(), options);
        let users = config.users.as_ref();
        engines.set_programs_per_user(users.and_then(|users| users.max_programs));
        let call_rates = users.and_then(|users| users.calls_per_minute).map(CallRates::new);
        let shares_limits =
            call_rates.is_some() || users.is_some_and(|users| users.max_programs.is_some());
        let engines = Arc::new(engines);
        let fleet = config.fleet.clone().zip(fleet_store);
        let fleet = fleet.map(|(config, store)| Fleet::new(config, store));
        let gateway_id = fleet.as_ref().map(|fleet| fleet.id().clone());
        let sessions = Arc::new(Sessions::new(config.sessions).at(gateway_id));
        let metrics = Arc::new(Metrics::default());
        let identities = Arc::new(Identities::new(vault.clone()));
        // Policies can have a person asked, also after a change of their files.
        let is_durable = config.durable || config.approvals.is_some() || policies.is_some();
        let durable = is_durable.then(|| {
            let store = durable.unwrap_or_else(|| onecall_store::unavailable(NO_STORE));
            DurableRuns::start(&config, store, Arc::clone(&engines))
        });
        let recorder = Recorder::start(record_settings(&config), store.clone());
        // Records leave out the secrets of users, too.
        let audit = audit_writer(&config, audit);
        if let Some(vault) = &vault {
            vault.set_observer(secret_observer(recorder.clone(), audit.clone()));
        }
        let user_logins = user_logins(&config, vault.as_ref(), user_store.clone(), fleet.as_ref());
        let user_bridges = config.users.as_ref().map(|users| {
            let credentials = UserCredentials::new(vault.clone(), None);
            let credentials = match &user_logins {
                Some(logins) => credentials.with_links(logins.links()),
                None => credentials,
            };
            UserBridges::new(users, credentials, Arc::clone(&identities))
        });
        let shared = SharedServices {
            engines,
            durable,
            policies,
            user_bridges,
            sessions,
            cache: cache(&config, store.as_ref(), &identities, &metrics),
            identities,
            recorder,
            audit,
            call_rates: call_rates.map(Arc::new),
            metrics,
            learned: learned(&config, store.as_ref()),
            listings: store.clone().map(|store| Arc::new(ListingStore::new(store))),
            users: user_store,
            fleet,
            drain: Drain::default(),
            readiness: Readiness::default(),
        };
        let policy = shared.policies.clone().map(|it| it as Arc<dyn AccessPolicy>);
        let access = UserAccess { policy, ..UserAccess::default() };
        let rules = ProgramRules::new(&config, &shared, &bridge, access.clone());
        let gateway = Arc::new(Self {
            access,
            bridge,
            guard,
            shared: Arc::new(shared),
            rules: watch::Sender::new(Arc::new(rules)),
            store,
            config: Arc::new(Mutex::new(config)),
            revision: OnceLock::new(),
            list_changes: OnceLock::new(),
            views: UserViews::default(),
            exposure,
            lists: ListCache::default(),
            tool_folder: tool_folder.map(Arc::new),
            is_serving: AtomicBool::new(false),
            user_logins,
        });
        let watch = gateway.bridge.watch();
        tokio::spawn(Self::save_listings_on_change(Arc::downgrade(&gateway), watch));
        if let PinStorage::Shared(pins) = &gateway.bridge.options().pins {
            tokio::spawn(Self::follow_pins(Arc::downgrade(&gateway), Arc::clone(pins)));
        }
        if let Some(runs) = &gateway.shared.durable {
            let (runs, gateway) = (Arc::downgrade(runs), Arc::downgrade(&gateway));
            tokio::spawn(DurableRuns::watch_store(runs, gateway));
        }
        if let Some(fleet) = gateway.fleet() {
            tokio::spawn(Arc::clone(fleet).keep_alive());
            if shares_limits {
                let (call_rates, engines) =
                    (gateway.shared.call_rates.clone(), Arc::clone(&gateway.shared.engines));
                let counters = UsageCounters { call_rates, engines };
                tokio::spawn(Fleet::share_limits(Arc::downgrade(fleet), counters));
            }
        }
        if gateway.tool_folder.is_some() {
            let changes = gateway.list_changes().tools;
            tokio::spawn(Self::update_tool_folder_on_change(Arc::downgrade(&gateway), changes));
        }
        if gateway.shared.policies.is_some() {
            let watch = gateway.bridge.watch();
            tokio::spawn(Self::recheck_policies_on_change(Arc::downgrade(&gateway), watch));
        }
        Ok(gateway)
    }

    /// Notifies when the list of tools that programs may call is outdated. The number itself has no
    /// meaning. Must be called inside a tokio runtime.
    #[must_use]
    pub fn revision(&self) -> watch::Receiver<u64> {
        let start = || {
            let (count, revision) = watch::channel(0);
            let (tools, rules) = (self.bridge.watch(), self.rules.subscribe());
            tokio::spawn(revision::count_changes(tools, rules, count));
            revision
        };
        self.revision.get_or_init(start).clone()
    }

    /// Notifies when the tool or resource lists shown to clients change. Must be called inside a tokio
    /// runtime.
    #[must_use]
    pub fn list_changes(&self) -> ListChanges {
        let start = || {
            let (tools, rules) = (self.bridge.watch(), self.rules.subscribe());
            let events = self.server_events();
            let watched =
                ExposedWatch { exposure: self.exposure.clone(), user: self.user().clone() };
            ListChanges::start(tools, rules, events, watched)
        };
        self.list_changes.get_or_init(start).clone()
    }

    pub(crate) fn rules(&self) -> Arc<ProgramRules> {
        Arc::clone(&self.rules.borrow())
    }

    pub(crate) fn config(&self) -> MutexGuard<'_, Config> {
        self.config.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the engine and checks its sandbox, so that the first program does not have to wait
    /// for it. If that fails, each program gets the same error.
    pub async fn warm_up(&self) {
        if let Err(error) = self.shared.engines.warm_up().await {
            tracing::error!("no program can run: {error}");
        }
    }

    /// Returns when the start is over: the engine that was warmed up has prepared itself as far as it can.
    pub async fn prepared(&self) {
        self.shared.engines.prepared().await;
    }

    /// What programs may do with files in the workspace.
    #[must_use]
    pub fn workspace(&self) -> Option<WorkspaceAccess> {
        self.shared.engines.workspace()
    }

    /// The optional tools of onecall that are offered to agents.
    #[must_use]
    pub fn optional_tools(&self) -> Vec<OptionalTool> {
        self.config().optional_tools.clone()
    }

    /// The other gateways, if this one is one of several.
    #[must_use]
    pub fn fleet(&self) -> Option<&Arc<Fleet>> {
        self.shared.fleet.as_ref()
    }

    /// The writer of the audit trail, if there is one.
    #[must_use]
    pub fn audit(&self) -> Option<&Arc<AuditWriter>> {
        self.shared.audit.as_ref()
    }

    /// Notes in the audit trail that the gateway begins to serve clients. Its shutdown is noted, too.
    pub fn note_serving(&self) {
        if let Some(audit) = &self.shared.audit {
            let version = env!("CARGO_PKG_VERSION").to_owned();
            audit.add_event(AuditEvent::Started { version, process: std::process::id() });
            self.is_serving.store(true, Ordering::Relaxed);
        }
    }

    /// Sets the definitions of onecall's own tools, for the tokens that programs save.
    pub fn set_own_definitions(&self, definitions: &str) {
        if let Some(recorder) = &self.shared.recorder {
            recorder.set_own_definitions(definitions);
        }
    }

    /// Has the tokens of recorded runs counted.
    pub fn count_tokens_with(&self, counter: Arc<dyn TokenCounter>) {
        if let Some(recorder) = &self.shared.recorder {
            recorder.count_tokens_with(counter);
        }
    }

    /// Logins of users to servers, if there are users and pages for them.
    #[must_use]
    pub fn user_logins(&self) -> Option<&Arc<UserLogins>> {
        self.user_logins.as_ref()
    }

    /// Durable runs, if there are any in this configuration.
    pub(crate) fn durable_runs(&self) -> Option<&Arc<DurableRuns>> {
        self.shared.durable.as_ref()
    }

    /// The settings of approvals, if calls can wait for a person.
    #[must_use]
    pub fn approvals(&self) -> Option<ApprovalSettings> {
        self.durable_runs()?;
        let asks = self.shared.policies.as_ref().is_some_and(|policies| policies.asks());
        self.config().approvals.clone().or_else(|| asks.then(ApprovalSettings::default))
    }

    /// Whether policies decide about calls.
    #[must_use]
    pub fn has_policies(&self) -> bool {
        self.shared.policies.is_some()
    }

    /// Whether the configuration has users.
    #[must_use]
    pub fn has_users(&self) -> bool {
        self.config().users.is_some()
    }

    /// Removes the secrets of the current configuration from texts.
    #[must_use]
    pub fn redactor(&self) -> Redactor {
        settings::redactor(&self.config())
    }

    /// Runs one program to its end, however long it waits for a person. Dropping the future cancels
    /// the program.
    pub async fn run(&self, program: &Program, observer: &dyn Observer) -> Outcome {
        let request = RunRequest::Program { program: program.clone(), file: None };
        match self.begin_in_place(&request, observer).await {
            Ok(None) => self.run_undurable(program, observer).await,
            Ok(Some(run)) => {
                let observer = run.observer(observer);
                let outcome = self.run_with(program, &run.options(), &observer).await;
                run.end(RunAnswer::of_program(&outcome, program, None)).await;
                outcome
            }
            Err(error) => {
                let failure = Failure::refused("StoreError", error.to_string());
                Outcome::not_started(failure, self.limits().timeout)
            }
        }
    }

    /// Runs one program that does not have to be durable. Dropping the future kills the program.
    pub async fn run_undurable(&self, program: &Program, observer: &dyn Observer) -> Outcome {
        self.run_with(program, &RunOptions::default(), observer).await
    }

    /// Runs one program like [`Self::run`], with options.
    pub(crate) async fn run_with(
        &self,
        program: &Program,
        options: &RunOptions,
        observer: &dyn Observer,
    ) -> Outcome {
        self.bridge.start_named_in(&program.code);
        tokio::select! {
            () = self.fill_tool_folder(program) => {}
            // The program has been cancelled and will not run.
            () = observer.cancelled() => {}
        }
        self.rules().runtime.run_with(program, options, observer).await
    }

    /// Reports which tools a program can call, without running it.
    pub async fn preview(&self, program: &Program) -> Preview {
        self.bridge.start_named_in(&program.code);
        self.rules().runtime.preview(program).await
    }

    /// The limits of one program.
    #[must_use]
    pub fn limits(&self) -> RunLimits {
        self.rules().runtime.limits().clone()
    }

    /// Saves the source of a program as a file, if programs have a folder that they may write to.
    ///
    /// # Errors
    /// If the name cannot be used, or the file cannot be written.
    pub async fn save(&self, program: &Program, name: &str) -> Result<Option<PathBuf>, SaveError> {
        self.rules().runtime.save(program, name).await
    }

    /// Resolves and checks everything in a plan without running it.
    pub async fn check_plan(&self, request: PlanRequest) -> Result<Plan, PlanProblems> {
        let prepared = self.prepare_plan(request, &self.rules()).await;
        prepared.stop_servers().await;
        prepared.plan
    }

    /// Runs a plan, the arguments of `proxy`, to its end, however long it waits for a person. Dropping
    /// the future cancels it.
    ///
    /// # Errors
    /// If something is wrong with the plan, or it fails.
    pub async fn run_plan(
        &self,
        arguments: &Map<String, Value>,
        observer: &dyn Observer,
    ) -> Result<PlanAnswer, PlanFailure> {
        let plan = PlanRequest::read(arguments);
        match self.begin_in_place(&RunRequest::Plan(arguments.clone()), observer).await {
            Ok(None) => self.run_undurable_plan(plan, observer).await,
            Ok(Some(run)) => {
                let observer = run.observer(observer);
                let answer = self.run_plan_with(plan, &run.options(), &observer).await;
                run.end(RunAnswer::of_plan(&answer)).await;
                answer
            }
            Err(error) => {
                let report = format!("[Script execution failed]\n{error}");
                Err(PlanFailure::Failed { report })
            }
        }
    }

    /// Runs a plan that does not have to be durable. Dropping the future kills it.
    ///
    /// # Errors
    /// If something is wrong with the plan, or it fails.
    pub async fn run_undurable_plan(
        &self,
        request: PlanRequest,
        observer: &dyn Observer,
    ) -> Result<PlanAnswer, PlanFailure> {
        self.run_plan_with(request, &RunOptions::default(), observer).await
    }

    /// Runs a plan like [`Self::run_plan`], with options.
    pub(crate) async fn run_plan_with(
        &self,
        request: PlanRequest,
        options: &RunOptions,
        observer: &dyn Observer,
    ) -> Result<PlanAnswer, PlanFailure> {
        let rules = self.rules();
        let prepared = self.prepare_plan(request, &rules).await;
        let answer = match &prepared.plan {
            Ok(plan) => {
                let layers = rules.runtime.layers();
                let tools =
                    PlanTools { gateway_layers: &layers, rules: &rules, prepared: &prepared };
                rules.runtime.run_plan(plan, &tools, options, observer).await
            }
            Err(problems) => Err(problems.clone().into()),
        };
        prepared.stop_servers().await;
        answer
    }

    /// The tools that programs may call, sorted by name. Waits for servers that are still
    /// connecting.
    pub async fn tools(&self) -> Vec<Arc<ToolSpec>> {
        self.rules().directory.tools().await
    }

    /// The tools that match `query` best, best first.
    pub async fn search(&self, query: &str, limit: usize) -> Vec<Arc<ToolSpec>> {
        self.rules().directory.search(query, limit).await
    }

    /// Looks one tool up, by any name that [`Directory::find`] accepts.
    pub async fn inspect(&self, name: &str) -> Result<Arc<ToolSpec>, ToolNotFound> {
        let directory = &self.rules().directory;
        let mut missing = ToolNotFound { name: name.to_owned(), ..ToolNotFound::default() };
        match directory.find(name).await {
            NameLookup::Tool(spec) => return Ok(spec),
            NameLookup::Unknown(nearest) => missing.nearest = nearest,
            NameLookup::Ambiguous(names) => missing.candidates = names,
            NameLookup::Quarantined(why) => missing.quarantine = Some(why),
            NameLookup::Blocked => {
                missing.nearest = directory.nearest(&*directory.suggestion_catalog().await, name);
            }
        }
        Err(missing)
    }

    /// The category under which generated files and imports put a tool.
    #[must_use]
    pub fn category(&self, spec: &ToolSpec) -> ToolCategory {
        self.rules().directory.category(spec)
    }

    /// The observed result type of a tool, if its server declares none and results have been seen.
    #[must_use]
    pub fn observed(&self, spec: &ToolSpec) -> Option<ObservedOutput> {
        self.shared.learned.as_ref()?.observed(spec)
    }

    /// The quarantined tools that policy would permit if they were accepted, sorted by name.
    #[must_use]
    pub fn quarantine(&self) -> Vec<QuarantinedTool> {
        let directory = &self.rules().directory;
        let mut tools = self.bridge.quarantine();
        tools.retain(|tool| directory.permits(&tool.spec));
        tools
    }

    /// The clients that can answer questions of servers.
    #[must_use]
    pub fn clients(&self) -> &GatewayClients {
        self.bridge.clients()
    }

    /// Notifies every server that the roots of the client have changed.
    pub fn roots_changed(&self) {
        self.bridge.roots_changed();
    }

    /// Waits until no server that a program seems to use is being installed for the first time. The
    /// time for this does not count as the program's time.
    pub async fn wait_until_installed(&self, program: &Program) {
        self.bridge.start_named_in(&program.code);
        self.bridge.wait_until_installed(|server| program.code.contains(server)).await;
    }

    /// The status of each server. Waits for those that are still connecting.
    pub async fn servers(&self) -> Vec<ServerStatus> {
        self.bridge.catalog().await;
        self.status()
    }

    /// The status of each of these servers. Idle ones are started and waited for.
    pub async fn servers_named(&self, names: &[String]) -> Vec<ServerStatus> {
        let is_selected = |name: &ServerName| names.iter().any(|it| it == name.as_str());
        self.bridge.catalog_of_servers(is_selected).await;
        let mut servers = self.status();
        servers.retain(|server| is_selected(&server.name));
        servers
    }

    /// The tools that programs may call and that are known at this moment, sorted by name.
    #[must_use]
    pub fn known_tools(&self) -> Vec<Arc<ToolSpec>> {
        self.rules().directory.known_tools()
    }

    /// The status of each server at this moment.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        self.bridge.status()
    }

    /// The metrics of the gateway in the Prometheus text format.
    #[must_use]
    pub fn metrics(&self) -> String {
        let is_up = |server: &ServerStatus| {
            matches!(server.state, ServerState::Ready { .. } | ServerState::Local { .. })
        };
        let servers = self.bridge.status().into_iter().map(|it| (it.name.clone(), is_up(&it)));
        let engines = &self.shared.engines;
        let (workers, load) = (engines.workers_started(), engines.load());
        let unrecorded = self.shared.recorder.as_ref().map_or(0, |recorder| recorder.dropped());
        let store_queue = self.store.as_ref().map(|store| StoreQueue {
            waiting: store.waiting(),
            dropped: store.dropped().saturating_add(unrecorded),
        });
        let state = MetricsState { servers: servers.collect(), workers, load, store_queue };
        self.shared.metrics.page(&state)
    }

    /// One line for each local tool that cannot work, with the reason.
    #[must_use]
    pub fn local_problems(&self) -> Vec<String> {
        self.bridge.local_problems()
    }

    /// One line for each name that several tools would have, with the names they have instead.
    #[must_use]
    pub fn name_collisions(&self) -> Vec<String> {
        self.bridge.name_collisions()
    }

    /// One line for each entry of the lists of allowed tools, blocked tools and tools that need an
    /// approval that matches no tool.
    /// Waits for servers that are still connecting.
    pub async fn unused_entries(&self) -> Vec<String> {
        let catalog = self.bridge.catalog().await;
        let ask = self.config().approvals.as_ref().map(|approvals| approvals.ask.clone());
        let ask = ask.unwrap_or_default();
        unused_entries(&self.rules().permission.lists, &ask, &catalog, &self.status())
    }

    /// Stops every server, and completes pending writes to the store.
    pub async fn shutdown(&self) {
        self.stop(STORE_CLOSE_TIMEOUT, Duration::MAX).await;
    }

    /// Shuts down as [`shutdown`](Self::shutdown) does, and waits no longer than `limit` for servers that do
    /// not exit and for a store that does not answer. Servers that are left are stopped when this process ends.
    pub async fn shutdown_within(&self, limit: Duration) {
        self.stop(limit.min(STORE_CLOSE_TIMEOUT), limit / 2).await;
    }

    /// Stops the servers and closes the store, each within a time.
    async fn stop(&self, limit: Duration, limit_of_servers: Duration) {
        let deadline = Instant::now() + limit;
        let folder = self.tool_folder.clone();
        let removed = tokio::task::spawn_blocking(move || folder.map(|folder| folder.remove()));
        self.save_listings();
        let leave = async {
            if let Some(fleet) = self.fleet() {
                fleet.leave().await;
            }
        };
        let release_runs = async {
            if let Some(runs) = &self.shared.durable {
                runs.shutdown().await;
            }
        };
        let handed_over = async { tokio::join!(leave, release_runs) };
        let handed_over = async {
            if tokio::time::timeout_at(deadline.into(), handed_over).await.is_err() {
                tracing::warn!(
                    "runs could not be handed over in time; other gateways take them up when their leases end"
                );
            }
        };
        let servers_stopped = tokio::time::timeout(limit_of_servers, self.bridge.shutdown());
        let ((), stopped) = tokio::join!(handed_over, servers_stopped);
        if stopped.is_err() {
            tracing::warn!(
                "some servers have not exited in time; they are stopped in the background"
            );
        }
        let (recorder, store) = (self.shared.recorder.clone(), self.store.clone());
        let audit = self.shared.audit.clone();
        if let Some(audit) = audit.as_ref().filter(|_| self.is_serving.load(Ordering::Relaxed)) {
            audit.add_event(AuditEvent::Stopped { process: std::process::id() });
        }
        let close = move || {
            let left = || deadline.saturating_duration_since(Instant::now()).max(LAST_CHANCE);
            audit.inspect(|audit| _ = audit.close(left()));
            recorder.inspect(|recorder| recorder.close(left()));
            store.inspect(|store| _ = store.close(left()));
        };
        _ = tokio::task::spawn_blocking(close).await;
        // A failure has been logged where it happened.
        _ = removed.await;
    }
}

/// Creates the cache that the configuration asks for, if any.
fn cache(
    config: &Config,
    store: Option<&Arc<StoreWriter>>,
    identities: &Arc<Identities>,
    metrics: &Arc<Metrics>,
) -> Option<Arc<Cache>> {
    let settings = config.cache.clone()?;
    identities.set(&config.servers, &config.local_tools);
    let cache = Cache::new(settings, store.cloned(), identities.clone());
    Some(Arc::new(cache.with_metrics(Arc::clone(metrics))))
}

/// Creates the collection of learned result types, if the configuration enables it.
fn learned(config: &Config, store: Option<&Arc<StoreWriter>>) -> Option<Arc<LearnedTypes>> {
    if config.output_types == OutputTypeSource::Declared {
        return None;
    }
    let learned = LearnedTypes::new(store.cloned());
    learned.set_origins(settings::origins(&config.servers));
    learned.set_private(settings::private_servers(&config.servers));
    Some(Arc::new(learned))
}
