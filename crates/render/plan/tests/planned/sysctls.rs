//! Settings of the kernel that scripts write.

use crate::plan_templates;

#[test]
fn settings_of_the_kernel_that_scripts_write_are_in_the_document() {
    let script = "sysctl -w kernel.shmmax=1\n<% if spec.index > 0 %>echo 1 > /proc/sys/kernel/shmall\n<% end %>";
    let planned = plan_templates(
        &[("db", "templates: {pre-start.erb: bin/pre-start, notes.erb: config/notes}"), ("web", "templates: {}")],
        // Not a script.
        &[("db", "pre-start.erb", script), ("db", "notes.erb", "sysctl -w vm.swappiness=1\n")],
        "instance_groups: [{name: g, instances: 2, jobs: [{name: db, release: r}, {name: web, release: r}]}]",
    );
    assert_eq!((planned.code, planned.printed.as_str()), (Some(0), ""));
    let jobs = &planned.deployment().instance_groups[0].jobs;
    assert_eq!(jobs[0].sysctls, ["kernel.shmall", "kernel.shmmax"]);
    assert!(jobs[1].sysctls.is_empty());
}
