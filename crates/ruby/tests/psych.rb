# What Psych says, for tests: answers questions, each a letter and a text (s: what a plain scalar stands for; d: what a
# document holds; r: Marshal of a value, read and written again; w: the document of such a value), with Marshal, or with
# nothing where it is refused.
require 'psych'

$stdin.binmode
$stdout.binmode
LOADER = Psych::ClassLoader::Restricted.new(['Symbol'], [])

def answer(kind, text)
  return Marshal.dump(Marshal.load(text)) if kind == 'r'
  return Psych.dump(Marshal.load(text)) if kind == 'w'

  text.force_encoding(Encoding::UTF_8)
  value =
    case kind
    when 's' then Psych::ScalarScanner.new(LOADER).tokenize(text)
    when 'd' then Psych.safe_load(text, permitted_classes: [Symbol], aliases: true)
    end
  Marshal.dump(value)
rescue StandardError
  ''
end

until $stdin.eof?
  kind = $stdin.read(1)
  answer = answer(kind, $stdin.read($stdin.read(4).unpack1('N')))
  $stdout.write([answer.bytesize].pack('N'), answer)
  $stdout.flush
end
