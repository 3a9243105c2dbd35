//! Requests to the instances of a group: to run post-deploy scripts, or an errand that is colocated with services.
//!
//! A request is an annotation of the pod, which the kubelet writes into a file of a volume. `run-requests` prints a line when it
//! begins, and one when it ends, into the log of its container.

use std::fmt;
use std::str::FromStr;

/// The annotation that requests post-deploy scripts: an id.
pub const POST_DEPLOY: &str = "quarks.cloudfoundry.org/post-deploy";
/// The annotation that requests an errand: an id, a space and the job.
pub const ERRAND: &str = "quarks.cloudfoundry.org/errand";
/// The files of the annotations, in this order.
pub const FILES: [(&str, &str); 2] = [("post-deploy", POST_DEPLOY), ("errand", ERRAND)];
/// Where the files are in a container.
pub const DIRECTORY: &str = "/var/run/boson/requests";
/// How the lines of `run-requests` begin.
const MARK: &str = "run-requests: ";

/// What is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The post-deploy script of each job that has one.
    PostDeploy,
    /// An errand.
    Errand,
}

/// What became of a request, as a line of the container's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What was requested.
    pub what: What,
    /// The job.
    pub job: String,
    /// The request.
    pub id: String,
    /// The exit status; absent when it begins.
    pub status: Option<u8>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            What::PostDeploy => "post-deploy",
            What::Errand => "errand",
        };
        write!(f, "{MARK}{what} of job {}, request {}: ", self.job, self.id)?;
        match self.status {
            None => f.write_str("begins"),
            Some(status) => write!(f, "exit status {status}"),
        }
    }
}

impl FromStr for Line {
    type Err = ();

    fn from_str(line: &str) -> Result<Line, ()> {
        let rest = line.strip_prefix(MARK).ok_or(())?;
        let (what, rest) = rest.split_once(" of job ").ok_or(())?;
        let (job, rest) = rest.split_once(", request ").ok_or(())?;
        let (id, end) = rest.split_once(": ").ok_or(())?;
        let what = match what {
            "post-deploy" => What::PostDeploy,
            "errand" => What::Errand,
            _ => return Err(()),
        };
        let status = match end.strip_prefix("exit status ") {
            Some(status) => Some(status.parse().map_err(drop)?),
            None if end == "begins" => None,
            None => return Err(()),
        };
        Ok(Line { what, job: job.to_owned(), id: id.to_owned(), status })
    }
}

/// The request for an errand, as the annotation has it.
pub fn errand(id: &str, job: &str) -> String {
    format!("{id} {job}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_a_round_and_nothing_else_is_one() {
        for (what, status) in [(What::PostDeploy, None), (What::Errand, Some(3))] {
            let line = Line { what, job: "web".into(), id: "3f".into(), status };
            assert_eq!(line.to_string().parse(), Ok(line));
        }
        for other in
            ["run-requests: x of job a, request b: begins", "run-requests: errand of job a, request b: ends", "hello"]
        {
            assert_eq!(other.parse::<Line>(), Err(()));
        }
    }
}
