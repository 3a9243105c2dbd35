# What BOSH's JSON Schema library leaves to Ruby: regular expressions, formats and certificates.
require 'date'
require 'ipaddr'
require 'uri'

module Boson
  module SchemaFacts
    LABEL = /[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?/.freeze
    HOSTNAME = /\A#{LABEL}(?:\.#{LABEL})*\z/.freeze
    ATOM = %r{[[:alnum:]!#$%&'*+/=?^_`\{|\}~-]+}.freeze
    MAILBOX = /\A(?:#{ATOM}(?:\.#{ATOM})*|"(?:[^"\\[:cntrl:]]|\\[[:print:]])*")@(?<domain>[^@]+)\z/.freeze
    POINTER = %r{(?:/(?:[^~/]|~[01])*)*}.freeze
    TIME_OF_DURATION = /T(?=\d)(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)/.freeze
    DURATION = /\AP(?:\d+W|(?=\d|T)(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)?(?:#{TIME_OF_DURATION})?)\z/.freeze
    TEMPLATE_VARIABLE = /(?:\w|%\h\h)(?:\.?(?:\w|%\h\h))*(?::[1-9]\d{0,3}|\*)?/.freeze
    TEMPLATE = /\A(?:[^\s"'<>\\^`{|}%]|%\h\h|\{[+#.\/;?&=,!@|]?#{TEMPLATE_VARIABLE}(?:,#{TEMPLATE_VARIABLE})*\})*\z/.freeze

    module_function

    def matches(pattern, text)
      @patterns ||= Hash.new { |known, new| known[new] = Regexp.new(new) }
      regexp = @patterns[pattern]
      text.valid_encoding? && regexp.match?(text)
    end

    def format?(format, text)
      return false unless text.valid_encoding?

      case format
      when 'date-time' then date_time?(text)
      when 'date' then date_time?("#{text}T00:00:00Z")
      when 'time' then date_time?("2001-02-03T#{text}")
      when 'duration' then DURATION.match?(text)
      when 'email', 'idn-email' then (format == 'idn-email' || text.ascii_only?) && mailbox?(text)
      when 'hostname', 'idn-hostname' then (format == 'idn-hostname' || text.ascii_only?) && hostname?(text)
      when 'ipv4' then address?(text, Socket::AF_INET)
      when 'ipv6' then address?(text, Socket::AF_INET6)
      when 'uri' then !!scheme(text)
      when 'iri' then !!scheme(escaped(text))
      when 'uri-reference' then scheme(text) != false
      when 'iri-reference' then scheme(escaped(text)) != false
      when 'uuid' then /\A\h{8}(?:-\h{4}){3}-\h{12}\z/.match?(text)
      when 'uri-template' then TEMPLATE.match?(text)
      when 'json-pointer' then /\A#{POINTER}\z/.match?(text)
      when 'relative-json-pointer' then /\A(?:0|[1-9]\d*)(?:#|#{POINTER})\z/.match?(text)
      when 'regex' then regexp?(text)
      else true
      end
    end

    def certificate?(text)
      require 'openssl'
      !!OpenSSL::X509::Certificate.load(text)
    rescue OpenSSL::X509::CertificateError
      false
    end

    # RFC 3339; a leap second only where one can be.
    def date_time?(text)
      return false unless /(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)\z/i.match?(text) && !/[Tt\s]24:/.match?(text)

      time = DateTime.rfc3339(text)
      !/[Tt\s]\d\d:\d\d:6/.match?(text) || time.new_offset.strftime('%H:%M') == '23:59'
    rescue ArgumentError
      false
    end

    def mailbox?(text)
      domain = MAILBOX.match(text)&.[](:domain) or return false
      literal = domain[/\A\[(.*)\]\z/, 1] or return hostname?(domain)
      address?(literal, Socket::AF_INET) || address?(literal.delete_prefix('IPv6:'), Socket::AF_INET6)
    end

    def hostname?(text)
      text.length <= 253 && HOSTNAME.match?(text) && text.split('.').all? { |label| label.length <= 63 }
    end

    def address?(text, family)
      /\A[\h:.]+\z/.match?(text) && !!IPAddr.new(text, family)
    rescue IPAddr::Error
      false
    end

    # The scheme, nil for a reference without one, false for what is not a reference.
    def scheme(text)
      scheme, _, _, _, _, _, opaque, query, = URI::RFC3986_PARSER.split(text)
      [opaque, query].any? { |part| /\s/.match?(part) } ? false : scheme
    rescue URI::InvalidURIError
      false
    end

    def escaped(text)
      text.gsub(/[^[:ascii:]]/) { |c| c.bytes.map { |byte| format('%%%02X', byte) }.join }
    end

    def regexp?(text)
      !!Regexp.new(text)
    rescue RegexpError
      false
    end
  end

  operation('schema_fact') do |(question, rule, text)|
    case question
    when 'matches' then SchemaFacts.matches(rule, text)
    when 'format' then SchemaFacts.format?(rule, text)
    else SchemaFacts.certificate?(text)
    end
  end
end
