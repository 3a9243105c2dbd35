# Random YAML documents: what the loader makes of them is what Psych makes of them, or both refuse.
# Arguments: the loader's file, a seed, how many documents.
Encoding.default_external = Encoding::UTF_8
require 'psych'

loader, seed, count = ARGV
load loader
RANDOM = Random.new(Integer(seed))

PLAIN = %w[
  0 1 -1 0755 08 0x1F 0b1 1_000 1,000 1.5 .5 1. 1e3 1.5e+3 ~ null Null true False yes NO on y n 1:30 12:30:45 1:60 0o7
  word :sym :"a .inf -.Inf .NaN 2020-01-02 2001-12-14t21:59:43Z = << - . -. + 9223372036854775808 1__0 0_ 1_ 0. -0 +1
  +.5 0x_f 2020-13-40 1:2:3 0:0 00 0b 0x
].freeze

TAGGED = [
  '!foo x', '!!str 1', '!!int 12', '!!int abc', '!!float 1', '!!float x', '!!null x', '!!bool yes', '!', '! x', '!!str',
  '!binary aGVsbG8=', '!!binary "/v8="', '!ruby/symbol s', '!ruby/sym q', '!!set {a, b}', '!!omap [a: 1]',
  '!ruby/regexp /x/', '!ruby/object:Object {}', '!ruby/range 1..2', '!!map {a: 1}', '!!seq [1]', '!str y',
  '!!timestamp 2020-01-01', "!!int '12'"
].freeze

OTHERS = [
  'two words', "\"dq\\n\u00e9\"", "'sq''s'", '"1"', "'1:30'", '""', "''", '":sym"', '"<<"', '[]', '{}',
  '[1, [2], {a: 1}]', '{a: 1, b: {c: [x]}}', '{<<: {a: 1}, a: 2}', '[*A, *B]', '{<<: *A}', '{<<: [*A, {z: 1}]}',
  '&A {x: 1, y: 2}', '&B [1, 2]', '&C text', '*A', '*B', '*C', '{*C : 1}', '{[1]: 2}', '{? {a: b} : c}',
  '{!!str 1: 2}', '{!!str <<: {q: 1}}', "|\n        lit\n         eral\n", ">-\n        fol\n        ded\n",
  "|+\n        keep\n\n", '# comment', '', '1 # c', '&D !!int 5', '*D', '!!int &D 5', '@x', '{a: 1', '"unclosed'
].freeze

KEYS = ['a', 'b', 'c', 'd', '<<', '"<<"', '1', '~', 'true', ':s', 'x-y', '?', '*C', '&E e', '*E', '!!str <<', '[1]',
        '0755', '1.5', "''", '!!int 3'].freeze

def pick(of) = of[RANDOM.rand(of.size)]
def value = pick([PLAIN, PLAIN, OTHERS, OTHERS, TAGGED][RANDOM.rand(5)])
def sequence(indent) = Array.new(1 + RANDOM.rand(4)) { "#{' ' * indent}- #{value}\n" }.join

def mapping(indent, depth)
  pad = ' ' * indent
  Array.new(1 + RANDOM.rand(4)) do
    case RANDOM.rand(5)
    when 0, 1 then "#{pad}#{pick(KEYS)}: #{value}\n"
    when 2 then "#{pad}<<: #{pick(['*A', '*B', '{q: 1}', '[*A]', '5', '*F', '[*A, *F]', '~', '[5]', '[]'])}\n"
    when 3 then "#{pad}#{pick(KEYS)}: #{pick(['', '&A', '&F'])}\n#{depth.zero? ? sequence(indent + 2) : mapping(indent + 2, depth - 1)}"
    else "#{pad}#{pick(KEYS)}:\n#{sequence(indent)}"
    end
  end.join
end

def document
  head = RANDOM.rand(5).zero? ? "---\n" : ''
  anchors = RANDOM.rand(3).zero? ? '' : "A0: &A {k: 1, l: [2]}\nB0: &B [3, s]\nC0: &C txt\nF0: &F\n  m: n\n"
  tail = pick(['', '', '', '', "--- second\n", "...\nrubbish: [\n"])
  body = case RANDOM.rand(8)
         when 0 then "#{value}\n"
         when 1 then sequence(0)
         else anchors + mapping(0, 2)
         end
  head + body + tail
end

# Values as text that shows types, order, and what is one object.
def outcome
  value = yield
  [value.inspect, Psych.dump(value)]
rescue StandardError, SystemStackError
  :refused
end

read = 0
Integer(count).times do
  text = document
  expected = outcome { Psych.safe_load(text, permitted_classes: [Symbol], aliases: true) }
  came = outcome { Boson::Loader.load(text) }
  read += 1 unless expected == :refused
  abort "#{text}\nPsych:  #{expected.inspect}\nloader: #{came.inspect}" unless came == expected
end
abort 'nearly every document was refused: this tests nothing' if read < Integer(count) / 10
