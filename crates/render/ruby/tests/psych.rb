# What Psych says, for tests: answers questions, each a letter and a text, with nothing where it is refused.
# s: what a plain scalar stands for, in Marshal; d: what a document holds, in words; m: what a Marshal dump holds, in words.
require 'psych'

$stdin.binmode
$stdout.binmode
LOADER = Psych::ClassLoader::Restricted.new(['Symbol'], [])

def answer(kind, text)
  case kind
  when 'm' then words(Marshal.load(text))
  when 's' then Marshal.dump(Psych::ScalarScanner.new(LOADER).tokenize(text.force_encoding(Encoding::UTF_8)))
  else words(Psych.safe_load(text.force_encoding(Encoding::UTF_8), permitted_classes: [Symbol], aliases: true))
  end
rescue StandardError
  ''
end

# Values, and which collections are one object. (Which Strings are, depends on the garbage collector.)
def words(value)
  value.inspect + Psych.dump(value)
rescue ArgumentError
  # Strings that Psych cannot write.
  value.inspect
end

until $stdin.eof?
  kind = $stdin.read(1)
  answer = answer(kind, $stdin.read($stdin.read(4).unpack1('N')))
  $stdout.write([answer.bytesize].pack('N'), answer)
  $stdout.flush
end
