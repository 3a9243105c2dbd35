# Dumps values as Psych does and as Boson::Documents does, and reports where they differ.
# ARGV: path of yaml.rb, seed, number of random Strings.
require 'psych'

module Boson
  def self.operation(*); end

  def self.feature(*); end
end
require ARGV[0]

ALPHABET = "01789.:-+_,~<=* \t\netTZxbfNoyüé/'\"#!&%@{[|".chars.freeze
WORDS = %w[
  null yes y n off .inf 2020-01-01 2001-12-14t21:59:43.10-05:00 12:30 0x1F 0b101 0o7 0755 09 1_000 1,000 1.5e+3 :sym @x << = 0x_
].freeze

random = Random.new(ARGV[1].to_i)
strings = WORDS + Array.new(ARGV[2].to_i) do
  Array.new(random.rand(1..4)) { random.rand(3).zero? ? WORDS.sample(random: random) : ALPHABET.sample(random: random) }.join
end
shared = ['shared', { 'deep' => [nil, true, 1, 2.5, 10**30, :sym, :'a b'] }]
values = strings.map { |string| [string, { string => string }] }
values += [[shared, shared, { 'x' => shared[1] }], {}, [], 'text', nil, "\xFF".b, { 1 => 2, nil => 3, 1.5 => 4 }, 'a b ' * 40]

refused = 0
different = values.reject do |value|
  by_psych = begin
    Psych.dump(value)
  rescue ArgumentError
    refused += 1
    nil
  end
  ours = Boson::Documents.dump(value)
  by_psych ? by_psych == ours : Psych.unsafe_load(ours) == value
end
puts "#{values.size} values, of which Psych refuses #{refused}"
different.first(5).each { |value| puts "different: #{value.inspect}" }
exit different.empty? && refused.positive?
