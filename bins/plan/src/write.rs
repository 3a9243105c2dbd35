//! Writing `output.json` of each kind.

use handoff::bpm_info::BpmInfo;
use handoff::output::{BPM_YAML, PROPERTIES_YAML, encode};
use instance_group::Resolved;
use problem::{Problem, Result};
use ruby::Vm;
use vcap::atomic;

use crate::options::{Kind, Output, Request};

/// Secrets are in it.
const MODE: u32 = 0o600;

/// Writes what was asked for; nothing where anything cannot be encoded.
pub(crate) fn write(vm: &Vm, request: &Request, groups: &[Resolved], infos: &[BpmInfo]) -> Result<()> {
    match &request.output {
        Output::File(kind, path) => {
            let text = match kind {
                Kind::IgResolved => properties(vm, groups)?.remove(0),
                Kind::Bpm => bpm(&infos[0])?,
            };
            atomic::write_file_with_parents(path, text.as_bytes(), MODE)
        }
        Output::Directory(directory) => {
            let properties = properties(vm, groups)?;
            let bpm = infos.iter().map(bpm).collect::<Result<Vec<_>>>()?;
            for ((group, properties), bpm) in groups.iter().zip(&properties).zip(&bpm) {
                for (kind, text) in [("ig-resolved", properties), ("bpm", bpm)] {
                    let path = directory.join(&group.name).join(kind).join("output.json");
                    atomic::write_file_with_parents(&path, text.as_bytes(), MODE)?;
                }
            }
            Ok(())
        }
    }
}

fn properties(vm: &Vm, groups: &[Resolved]) -> Result<Vec<String>> {
    let texts = vm.dump_yaml(groups.iter().map(handoff::properties::encode).collect())?;
    Ok(texts.iter().map(|text| encode(PROPERTIES_YAML, text)).collect())
}

fn bpm(info: &BpmInfo) -> Result<String> {
    let text = serde_yaml::to_string(info).map_err(|e| Problem::internal("cannot encode bpm.yaml").because(e))?;
    Ok(encode(BPM_YAML, &text))
}
