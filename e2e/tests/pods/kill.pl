# kill.pl WHICH NAMESPACE POD COMMAND...: kills, once for each command, the first process of a container of the pod whose
# command line ends with it, as soon as there is one, and prints the command. WHICH: `any`, or `new`, which is started after
# this program. Ends when all are done, or after a quarter of an hour.
use strict;
use warnings;

my ($which, $namespace, $pod, @commands) = @ARGV;
my $end = time + 900;
$| = 1;

sub content {
  open(my $file, '<', $_[0]) or return '';
  local $/;
  return <$file> // '';
}

sub is_first_of_a_container_of_the_pod {
  my ($process) = @_;
  return content("$process/status") =~ /^NSpid:.*\s1$/m
    && content("$process/environ") =~ /(?:^|\0)HOSTNAME=\Q$pod\E\0/
    && content("$process/root/etc/resolv.conf") =~ /\s\Q$namespace\E\.svc\./;
}

my %old = $which eq 'new' ? map { $_ => 1 } glob('/proc/[0-9]*') : ();
while (@commands && time < $end) {
  for my $process (grep { !$old{$_} } glob('/proc/[0-9]*')) {
    my $line = join(' ', split(/\0/, content("$process/cmdline")));
    my ($command) = grep { $line =~ m{(?:^|/)\Q$_\E$} } @commands or next;
    next unless is_first_of_a_container_of_the_pod($process) && kill('KILL', substr($process, length '/proc/'));
    print "$command\n";
    @commands = grep { $_ ne $command } @commands;
  }
  select(undef, undef, undef, 0.001);
}
