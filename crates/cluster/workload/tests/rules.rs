//! What holds for the value of every group, whatever is in it.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::collections::BTreeSet;
use std::time::Duration;

use handoff::bpm_info::BpmInfo;
use handoff::deployment::{Deployment, InstanceGroup};
use workload::{Container, Image, Lifecycle, Mount, Pod, RootUse, Script, Settings, Source, User, VolumeName};

const DOCUMENT: &str = include_str!("everything/bpm.yaml");

fn settings() -> Settings {
    Settings { grace: Duration::from_secs(45), template_settings: Vec::new() }
}

/// The group, with the scripts and the disk of its document.
fn group() -> InstanceGroup {
    let deployment = Deployment::decode(include_str!("everything/deployment.yaml"), "deployment.yaml").unwrap();
    deployment.group("db").unwrap().clone()
}

/// A pod of a group without a disk whose jobs have every script.
fn pod_of(document: &str, lifecycle: Lifecycle) -> Pod {
    let mut group = group();
    group.persistent_disk = None;
    group.lifecycle = lifecycle;
    group.jobs.iter_mut().for_each(|job| job.scripts = Script::ALL.to_vec());
    Pod::new(&BpmInfo::decode(document, "bpm.yaml").unwrap(), &group, &settings())
}

fn documented() -> Pod {
    Pod::new(&BpmInfo::decode(DOCUMENT, "bpm.yaml").unwrap(), &group(), &settings())
}

fn service() -> Pod {
    pod_of(DOCUMENT, Lifecycle::Service)
}

fn errand() -> Pod {
    pod_of(&DOCUMENT.replace("lifecycle: service", "lifecycle: errand"), Lifecycle::Errand)
}

#[test]
fn names_are_unique_and_mounts_have_volumes() {
    for pod in [service(), errand(), documented()] {
        let names: BTreeSet<&str> = pod.containers().map(|container| container.name.as_str()).collect();
        assert_eq!(names.len(), pod.containers().count(), "{names:?}");
        for container in pod.containers() {
            for mount in &container.mounts {
                let volume = pod.volumes.iter().find(|volume| volume.name == mount.volume);
                let volume = volume.unwrap_or_else(|| panic!("{}: {mount:?}", container.name));
                let may_write = !matches!(volume.source, Source::Image | Source::ResolvedProperties);
                assert!(mount.read_only || may_write, "{} writes to {}", container.name, volume.path);
            }
        }
    }
}

#[test]
fn only_supply_writes_to_what_all_instances_share() {
    let pod = service();
    for container in pod.containers().filter(|container| !pod.supply.contains(container)) {
        let shared = container.mounts.iter().filter(|mount| mount.volume == VolumeName::AllReleases);
        assert!(shared.into_iter().all(|mount| mount.read_only), "{}", container.name);
    }
}

#[test]
fn containers_agree_about_every_variable() {
    for pod in [service(), errand()] {
        let environment = pod.environment();
        let names: BTreeSet<&str> = environment.iter().map(|variable| variable.name.as_str()).collect();
        assert_eq!(names.len(), environment.len(), "{environment:?}");
    }
}

#[test]
fn variables_are_those_of_the_instance() {
    let pod = service();
    let instance = &pod.instances[2];
    let environment = pod.environment().into_iter();
    let resolved: Vec<String> = environment
        .map(|variable| {
            format!("{}={}", variable.name, variable.value.resolve(pod.replicas, instance, "10.0.0.4").unwrap())
        })
        .collect();
    assert_eq!(
        resolved,
        [
            "INSTANCE_GROUP_NAME=db",
            "AZ_INDEX=2",
            "REPLICAS=2",
            "POD_ORDINAL=0",
            "POD_IP=10.0.0.4",
            "BOSH_MANIFEST_PATH=/var/run/secrets/resolved-properties/db/properties.yaml",
            "BOSON_GRACE=45s",
        ]
    );
    assert_eq!(pod.address().unwrap(), "d-db.ns.svc.cluster.local");
}

#[test]
fn nothing_secret_is_in_the_value() {
    for pod in [service(), errand()] {
        assert!(!format!("{pod:?}").contains("not-for-the-value"));
    }
}

#[test]
fn scripts_run_in_their_release_or_all_at_once() {
    let pod = service();
    let commands: Vec<_> = pod.pre_start.containers.iter().map(|c| (c.image.clone(), c.command.argv())).collect();
    let image_of = |release: &str| Image::Release(release.to_owned());
    assert_eq!(
        commands,
        [
            (image_of("postgres"), vec!["pre-start", "--job", "postgres", "--job", "users"]),
            (image_of("tools"), vec!["pre-start", "--job", "tcpdump", "--job", "cron", "--job", "backup"]),
        ]
    );
    assert_eq!(pod.pre_start.command().unwrap().argv(), ["pre-start"]);
    assert_eq!(pod.post_start_command().unwrap().argv(), ["post-start", "--job", "users", "--job", "backup"]);
    assert_eq!(pod.post_deploy.command().unwrap().argv(), ["post-deploy"]);
}

#[test]
fn only_jobs_that_have_a_script_need_a_container_for_it() {
    let pod = documented();
    let commands: Vec<_> = pod.pre_start.containers.iter().map(|container| container.command.argv()).collect();
    assert_eq!(commands, [["pre-start", "--job", "postgres"]]);
    assert_eq!(pod.post_deploy.command(), None);
    assert_eq!(pod.post_start_command(), None);
    let scripts_only: Vec<_> = pod.scripts_only.iter().map(|job| (job.job.as_str(), job.scripts.clone())).collect();
    assert_eq!(scripts_only, [("users", vec![Script::Drain])]);
    assert_eq!(pod.scripts_only[0].container.user, User::Root(vec![RootUse::Script(Script::Drain)]));
    let user = |name: &str| &pod.containers().find(|container| container.name == name).unwrap().user;
    assert_eq!(*user("postgres/postgres"), User::Root(vec![RootUse::PreStartHook, RootUse::Script(Script::PostStart)]));
    // It has no script, but keeps its state where the other process of its job does.
    assert_eq!(*user("postgres/exporter"), User::Root(vec![RootUse::SharedState]));
}

/// A pod needs a container, and operators use the packages of jobs that run nothing.
#[test]
fn every_job_of_a_service_has_a_container() {
    let document = DOCUMENT.replace("lifecycle: service", "lifecycle: errand");
    for (lifecycle, document, expected) in
        [(Lifecycle::Service, DOCUMENT, vec!["users/scripts"]), (Lifecycle::Errand, document.as_str(), vec![])]
    {
        let mut group = group();
        group.lifecycle = lifecycle;
        group.jobs.iter_mut().for_each(|job| job.scripts = vec![Script::PreStart]);
        let pod = Pod::new(&BpmInfo::decode(document, "bpm.yaml").unwrap(), &group, &settings());
        let only: Vec<&str> = pod.scripts_only.iter().map(|job| job.container.name.as_str()).collect();
        assert_eq!(only, expected);
        for job in &pod.scripts_only {
            assert!(job.scripts.is_empty() && job.container.user == User::Vcap && job.container.is_idle());
        }
        // A job with a process or with requests has a container already.
        let idle = pod.containers().filter(|container| container.is_idle()).count();
        assert_eq!(idle, if lifecycle == Lifecycle::Service { 2 } else { 0 });
    }
    assert!(!documented().scripts_only[0].container.is_idle(), "its drain script needs what the group has");
}

#[test]
fn a_persistent_disk_is_mounted_where_jobs_run() {
    let pod = documented();
    let with_disk: Vec<&str> = pod
        .containers()
        .filter(|container| container.mounts.iter().any(|mount| mount.volume == VolumeName::Store))
        .map(|container| container.name.as_str())
        .collect();
    let expected = [
        "create-dirs",
        "pre-start/postgres",
        "postgres/postgres",
        "postgres/exporter",
        "tcpdump/tcpdump",
        "cron/crond",
        "users/scripts",
        "backup/run",
        "backup/requests",
    ];
    assert_eq!(with_disk, expected);
    assert!(service().volumes.iter().all(|volume| volume.name != VolumeName::Store));
}

#[test]
fn what_a_vm_has_around_jobs_is_mounted_where_they_run() {
    let pod = documented();
    let volumes = [VolumeName::Instance, VolumeName::Bosh, VolumeName::DevLog];
    let of_releases = |container: &&Container| matches!(container.image, Image::Release(_));
    for container in pod.containers().filter(of_releases).filter(|container| !pod.supply.contains(container)) {
        let mounted = |volume| container.mounts.iter().any(|mount| mount.volume == volume);
        assert!(volumes.into_iter().all(mounted), "{}", container.name);
    }
    // render-jobs writes the files; tail-logs makes the socket, in a volume that it mounts.
    let writes = |container: &Container, volume| container.mounts.contains(&Mount { volume, read_only: false });
    assert!(writes(&pod.prepare[0], VolumeName::Instance) && writes(&pod.prepare[0], VolumeName::Bosh));
    let socket = pod.volumes.iter().find(|volume| volume.name == VolumeName::DevLog).unwrap();
    assert_eq!(socket.source, Source::Socket { volume: VolumeName::Sys, path: "run/.tail-logs/log" });
    assert!(writes(&pod.tail_logs, VolumeName::Sys));
    let path = "/var/vcap/sys/run/.tail-logs/log";
    assert_eq!(pod.tail_logs.command.argv(), ["tail-logs", "--logs-syslog", path]);
    assert_eq!(pod.tail_logs.started.as_ref().unwrap().argv().last(), Some(&path));
}

#[test]
fn a_group_of_bpm_alone_has_no_scripts() {
    let start = DOCUMENT.find("  - name: postgres").unwrap();
    let end = DOCUMENT.rfind("  properties:\n    quarks:\n      replicas").unwrap();
    let pod = pod_of(&format!("{}{}", &DOCUMENT[..start], &DOCUMENT[end..]), Lifecycle::Service);
    assert_eq!((pod.pre_start.command(), pod.post_start_command()), (None, None));
    assert!(pod.processes.is_empty() && pod.scripts_only.is_empty());
}

#[test]
fn root_is_for_what_bosh_and_bpm_run_as_root() {
    let pod = service();
    let user = |name: &str| &pod.containers().find(|container| container.name == name).unwrap().user;
    let stop = [Script::PreStop, Script::Drain, Script::PostStop].map(RootUse::Script);
    let first = [RootUse::PreStartHook, RootUse::Script(Script::PostStart)].into_iter().chain(stop);
    assert_eq!(*user("postgres/postgres"), User::Root(first.collect()));
    assert_eq!(*user("postgres/exporter"), User::Root(stop.into()));
    let User::Root(uses) = user("tcpdump/tcpdump") else { panic!("it is privileged") };
    assert_eq!(uses[0], RootUse::PrivilegedProcess);
    for boson in ["install", "copy-jobs/postgres", "render-jobs", "create-dirs", "tail-logs"] {
        assert_eq!(*user(boson), User::Vcap, "{boson}");
    }
    let User::Root(uses) = user("cron/crond") else { panic!("monit runs programs as root") };
    assert_eq!(uses[0], RootUse::MonitProgram);
    // An errand's instance is deleted without the scripts of a stop.
    let errand = errand();
    let exporter = errand.containers().find(|container| container.name == "postgres/exporter").unwrap();
    assert_eq!(exporter.user, User::Root(vec![RootUse::SharedState]));
}

fn commands<'a>(containers: impl Iterator<Item = &'a Container>) -> Vec<String> {
    containers.map(|container| container.command.argv().join(" ")).collect()
}

#[test]
fn run_process_reads_monit_where_that_decides_more_than_the_process() {
    let processes = commands(service().processes.iter().map(|process| &process.container));
    assert_eq!(
        processes,
        [
            "run-process --job postgres --process postgres",
            "run-process --job postgres --process exporter",
            "run-process --job tcpdump --process tcpdump --monit tcpdump",
            "run-process --job cron --monit crond",
        ]
    );
    let tcpdump = &service().processes[2];
    assert!(tcpdump.runs_in(0) && !tcpdump.runs_in(1) && service().processes[0].runs_in(1));
}

#[test]
fn colocated_services_of_an_errand_start_before_it() {
    let pod = errand();
    assert!(pod.is_errand());
    assert_eq!(pod.processes.len(), service().processes.len());
    assert_eq!(
        commands(pod.errands.iter().map(|errand| &errand.container)),
        ["run-process --errand --job backup --after-processes"]
    );
    // Its instance is deleted without the scripts of a stop.
    assert!(pod.processes.iter().all(|process| process.container.command.argv().contains(&"--skip-stop-scripts")));
    assert!(!service().containers().any(|container| container.command.argv().contains(&"--skip-stop-scripts")));
    // bin/run may call bpm run.
    assert_eq!(pod.errands[0].container.privileges.capabilities, ["DAC_READ_SEARCH"]);
    assert!(pod.scripts_only.iter().all(|job| job.scripts == [Script::PostStart]));
}

#[test]
fn an_errand_without_a_script_is_the_processes_of_its_bpm_yml() {
    let document = DOCUMENT.replace("errand: script", "errand: bpm");
    let pod = pod_of(&document.replace("lifecycle: service", "lifecycle: errand"), Lifecycle::Errand);
    let errands = commands(pod.errands.iter().map(|errand| &errand.container));
    assert_eq!(errands, ["run-process --job backup --process backup --skip-stop-scripts --after-processes"]);
}

#[test]
fn an_errand_is_named_by_its_job_or_its_group() {
    let jobs = |pod: &Pod, name: &str| -> Vec<String> {
        pod.errands_named(name).iter().map(|errand| errand.job.clone()).collect()
    };
    assert_eq!(jobs(&service(), "backup"), ["backup"]);
    // A service is not run as a whole, nor is a process of it.
    assert_eq!(jobs(&service(), "db"), [""; 0]);
    assert_eq!(jobs(&service(), "postgres"), [""; 0]);
    assert_eq!(jobs(&errand(), "db"), ["backup"]);
    assert_eq!(jobs(&errand(), "backup"), ["backup"]);
    // A service that is colocated with an errand is none.
    assert_eq!(jobs(&errand(), "postgres"), [""; 0]);
}

#[test]
fn jobs_for_windows_are_refused_by_name() {
    let mut info = BpmInfo::decode(DOCUMENT, "bpm.yaml").unwrap();
    workload::check_platform([&info]).unwrap();
    let jobs = &mut info.instance_groups[0].jobs;
    jobs[1].properties.quarks.for_windows = true;
    let job = jobs[1].name.clone();
    let problems = workload::check_platform([&info]).unwrap_err();
    assert!(problems.to_string().contains(&format!("job '{job}' of instance group 'db' is for Windows")), "{problems}");
}

#[test]
fn the_volume_of_a_path_that_shares_its_mounts_is_shared() {
    let shared = |info: &BpmInfo| {
        let pod = Pod::new(info, &group(), &settings());
        pod.volumes.into_iter().filter(|volume| volume.shared).map(|volume| volume.name).collect::<Vec<_>>()
    };
    let mut info = BpmInfo::decode(DOCUMENT, "bpm.yaml").unwrap();
    let processes = info.instance_groups[0].jobs.iter_mut().filter_map(|job| job.properties.quarks.bpm.as_mut());
    let mut processes: Vec<_> = processes.flat_map(|bpm| &mut bpm.processes).collect();
    for process in &mut processes {
        process.additional_volumes.clear();
        process.unsafe_.unrestricted_volumes.clear();
    }
    let volume = |path: &str, shared| bpm::Volume { path: path.to_owned(), shared, ..bpm::Volume::default() };
    processes[0].additional_volumes = vec![volume("/var/vcap/data/grootfs", true), volume("/var/vcap/store/x", false)];
    processes[1].unsafe_.unrestricted_volumes = vec![volume("/var/vcap/packages/x", true), volume("/dev", true)];
    assert_eq!(shared(&info), [VolumeName::Data]);
}
