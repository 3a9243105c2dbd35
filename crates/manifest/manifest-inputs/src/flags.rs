//! The flags.

use std::path::PathBuf;

use clap::Args;

/// Ops files and variables, with the names and short forms of the bosh CLI.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Ops files and variables")]
pub struct Inputs {
    /// Apply the operations of a file to the manifest; repeatable, in order
    #[arg(short = 'o', long = "ops-file", value_name = "FILE")]
    pub ops_files: Vec<PathBuf>,
    /// Set a variable; the value is YAML; repeatable
    #[arg(short = 'v', long = "var", value_name = "NAME=VALUE")]
    pub vars: Vec<String>,
    /// Set a variable to the content of a file; repeatable
    #[arg(long = "var-file", value_name = "NAME=FILE")]
    pub var_files: Vec<String>,
    /// Load variables from a YAML file; repeatable, later files take precedence
    #[arg(short = 'l', long = "vars-file", value_name = "FILE")]
    pub vars_files: Vec<PathBuf>,
    /// Load variables from environment variables that begin with PREFIX_; repeatable
    #[arg(long, value_name = "PREFIX")]
    pub vars_env: Vec<String>,
    /// Generate the variables that the manifest defines and nothing else sets, and keep their values in this file
    #[arg(long, value_name = "FILE")]
    pub vars_store: Option<PathBuf>,
    /// Fail if a variable has no value
    #[arg(long)]
    pub var_errs: bool,
    /// Fail if a given variable is not used
    #[arg(long)]
    pub var_errs_unused: bool,
    /// Whether warnings are errors (`--strict` of the verbs that have it).
    #[arg(skip)]
    pub strict: bool,
}

/// Configs that a director has beside manifests.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Configs")]
pub struct Configs {
    /// A runtime config, whose addons and releases are added to the deployment; repeatable
    #[arg(long = "runtime-config", value_name = "FILE")]
    pub runtime_configs: Vec<PathBuf>,
    /// A cloud config, in which VM types, disk types, networks and AZs of the manifest are looked up; repeatable
    #[arg(long = "cloud-config", value_name = "FILE")]
    pub cloud_configs: Vec<PathBuf>,
}

impl Configs {
    /// Whether no config is given.
    pub fn is_empty(&self) -> bool {
        self.runtime_configs.is_empty() && self.cloud_configs.is_empty()
    }

    /// All files.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.runtime_configs.iter().chain(&self.cloud_configs)
    }
}
