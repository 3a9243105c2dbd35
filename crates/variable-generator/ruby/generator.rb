# Keys, certificates and random values of generated variables, in the form that the bosh CLI gives them.
Boson.feature('openssl')
Boson.feature('securerandom')

module Boson
  module Generator
    SALT = [*'a'..'z', *'A'..'Z', *'0'..'9', '.', '/'].freeze
    USERNAME = [*'a'..'z', *'A'..'Z'].freeze
    PRINTABLE = %r{\A[A-Za-z0-9 '()+,\-./:=?]*\z}.freeze
    OIDS = {
      'C' => '2.5.4.6', 'O' => '2.5.4.10', 'OU' => '2.5.4.11', 'L' => '2.5.4.7', 'ST' => '2.5.4.8', 'CN' => '2.5.4.3'
    }.freeze
    DAY = 86_400

    module_function

    # RSA keys: writes for each its index, its length and the PEM.
    def write_keys(tasks, output)
      tasks.each do |index, bits|
        pem = OpenSSL::PKey::RSA.new(bits).to_pem
        output.write([index, pem.bytesize].pack('NN'), pem)
      end
    end

    # Why a certificate and its key cannot sign; nil if they can.
    def why_not(certificate, key)
      certificate = OpenSSL::X509::Certificate.new(certificate)
      key = OpenSSL::PKey.read(key, '')
      return 'Parsing private key: it is a public key' unless key.private?
      return 'the private key does not belong to the certificate' unless certificate.check_private_key(key)
      return 'the certificate is not that of a certificate authority' unless authority?(certificate)

      'the certificate of the authority has expired' if certificate.not_after < Time.now
    rescue OpenSSL::X509::CertificateError
      'Parsing certificate: it is not an X.509 certificate'
    rescue OpenSSL::PKey::PKeyError
      'Parsing private key: it is not a private key, or is encrypted'
    end

    def authority?(certificate)
      constraints, usage = %w[basicConstraints keyUsage].map do |oid|
        certificate.extensions.find { |extension| extension.oid == oid }&.value
      end
      constraints.to_s.start_with?('CA:TRUE') && (usage.nil? || usage.include?('Certificate Sign'))
    end

    # The values of orders, of which later ones may be signed by earlier ones.
    def values(orders)
      made = []
      orders.each do |order|
        key = order['key'] && OpenSSL::PKey::RSA.new(order['key'])
        made << [send(order['type'], order, key, made), key]
      end
      made.map(&:first)
    end

    def password(order, *)
      classes = order['classes'].map(&:chars)
      loop do
        chosen = pick(classes.flatten, order['length'])
        return chosen.join if !order['each_class'] || classes.all? { |characters| (characters & chosen).any? }
      end
    end

    def pick(characters, count)
      Array.new(count) { characters[SecureRandom.random_number(characters.size)] }
    end

    def user(order, *)
      secret = password(order)
      {
        'username' => order['username'] || pick(USERNAME, 20).join,
        'password' => secret,
        'password_hash' => secret.crypt("$6$#{pick(SALT, 16).join}")
      }
    end

    def rsa(_order, key, _made)
      { 'private_key' => key.to_pem, 'public_key' => key.public_to_pem }
    end

    def ssh(order, key, _made)
      blob = ['ssh-rsa', integer(key.e), integer(key.n)].map { |part| [part.bytesize].pack('N') + part }.join
      {
        'private_key' => key.to_pem,
        'public_key' => "#{['ssh-rsa', [blob].pack('m0'), order['comment']].compact.join(' ')}\n",
        'public_key_fingerprint' => OpenSSL::Digest.hexdigest('MD5', blob).scan(/../).join(':')
      }
    end

    # An integer of SSH, which is negative if its first bit is set.
    def integer(number)
      bytes = number.to_s(2)
      bytes.getbyte(0) > 127 ? "\0".b + bytes : bytes
    end

    def certificate(order, key, made)
      authority, signing_key = signer(order['signer'], made)
      certificate = unsigned(order, key)
      certificate.issuer = authority ? authority.subject : certificate.subject
      certificate.extensions = extensions(order, key, authority)
      certificate.sign(signing_key || key, OpenSSL::Digest.new('SHA256'))
      { 'certificate' => certificate.to_pem, 'private_key' => key.to_pem, 'ca' => (authority || certificate).to_pem }
    end

    # The certificate and the key that sign; nil if it is the certificate itself.
    def signer(signer, made)
      case signer
      when Integer
        value, key = made[signer]
        [OpenSSL::X509::Certificate.new(value['certificate']), key]
      when Array
        [OpenSSL::X509::Certificate.new(signer[0]), OpenSSL::PKey.read(signer[1], '')]
      end
    end

    def unsigned(order, key)
      certificate = OpenSSL::X509::Certificate.new
      certificate.version = 2
      certificate.serial = OpenSSL::BN.new(SecureRandom.random_bytes(16), 2)
      certificate.subject = name(order['subject'])
      now = Time.now
      certificate.not_before = now
      certificate.not_after = now + order['days'] * DAY
      certificate.public_key = key
      certificate
    end

    # Built here, because OpenSSL limits the length of names, and Go does not.
    def name(attributes)
      sets = attributes.map do |attribute, text|
        type = PRINTABLE.match?(text) ? OpenSSL::ASN1::PrintableString : OpenSSL::ASN1::UTF8String
        oid = OpenSSL::ASN1::ObjectId.new(OIDS.fetch(attribute))
        OpenSSL::ASN1::Set.new([OpenSSL::ASN1::Sequence.new([oid, type.new(text)])])
      end
      OpenSSL::X509::Name.new(OpenSSL::ASN1::Sequence.new(sets).to_der)
    end

    # In the order in which Go writes them.
    def extensions(order, key, authority)
      factory = OpenSSL::X509::ExtensionFactory.new
      own_id = OpenSSL::Digest.digest('SHA1', key.n.to_s(2))
      id = authority ? authority.subject_key_identifier : own_id
      usages = order['extended_key_usage']
      [
        factory.create_extension('keyUsage', order['key_usage'].join(','), true),
        (factory.create_extension('extendedKeyUsage', usages.join(',')) if usages.any?),
        factory.create_extension('basicConstraints', order['is_ca'] ? 'CA:TRUE' : 'CA:FALSE', true),
        extension('subjectKeyIdentifier', OpenSSL::ASN1::OctetString.new(own_id)),
        (extension('authorityKeyIdentifier', OpenSSL::ASN1::Sequence.new([tagged(id, 0)])) if id),
        (extension('subjectAltName', alternative_names(order)) if order['alternative_names'].any?)
      ].compact
    end

    def extension(oid, value)
      OpenSSL::X509::Extension.new(oid, value.to_der, false)
    end

    def tagged(bytes, tag)
      OpenSSL::ASN1::ASN1Data.new(bytes, tag, :CONTEXT_SPECIFIC)
    end

    # DNS names, then addresses.
    def alternative_names(order)
      names = order['alternative_names'].map do |kind, text|
        kind == 'ip' ? tagged([text].pack('H*'), 7) : tagged(text, 2)
      end
      OpenSSL::ASN1::Sequence.new(names.partition { |name| name.tag == 2 }.flatten)
    end

    # When a certificate expires, and in how many seconds; nil for what is not one.
    def expiry(text)
      time = OpenSSL::X509::Certificate.new(text).not_after.utc
      [time.strftime('%FT%TZ'), (time - Time.now).to_i]
    rescue OpenSSL::X509::CertificateError
      nil
    end
  end

  operation('write_keys') { |tasks, output| Generator.write_keys(tasks, output) }
  operation('signers') { |signers| signers.map { |certificate, key| Generator.why_not(certificate, key) } }
  operation('values') { |orders| Generator.values(orders) }
  operation('expiry') { |certificates| certificates.map { |certificate| Generator.expiry(certificate) } }
end
