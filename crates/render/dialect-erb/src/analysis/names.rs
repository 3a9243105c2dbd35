//! Names of Ruby and its library, by what a template can do with them.

use std::collections::HashSet;
use std::sync::LazyLock;

/// A set of names, written one after the other.
macro_rules! names {
    ($text:literal) => {
        LazyLock::new(|| $text.split_whitespace().collect())
    };
}

type Names = LazyLock<HashSet<&'static str>>;

/// Keywords that change nothing outside the template.
static KEYWORDS: Names = names!(
    "
    and begin break case do else elsif end ensure false for if in loop next nil not or redo rescue retry return
    self then true unless until when while yield
    "
);

/// Keywords after which a value begins, so that `/` and `%` open a literal.
static BEFORE_VALUE: Names = names!(
    "
    and begin break case do else elsif ensure if in next not or rescue return then unless until when while
    "
);

/// Methods of the evaluation context and of Kernel that change nothing.
static FUNCTIONS: Names = names!(
    "
    __FILE__ __LINE__ __dir__ __method__ _erbout abort block_given? catch exit fail format if_link if_p index lambda
    link lookup_property loop name p pp print proc properties puts raise raw_properties spec sprintf throw warn
    Array Complex Float Hash Integer Rational String
    "
);

/// Methods that everything has and that reach beyond the template. One of these names is never taken for a variable or
/// for a method of the template's own: where there is none after all, it is Ruby's.
static REACHING: Names = names!(
    "
    ` __send__ at_exit autoload binding define_method define_singleton_method eval exec exit! extend fork freeze gem
    gem_original_require include initialize initialize_clone initialize_copy initialize_dup instance_eval instance_exec
    instance_variable_set load method method_missing open public_method public_send remove_instance_variable require
    require_relative send set_trace_func singleton_class spawn srand syscall system trace_var trap untrace_var using
    "
);

/// Methods that leave their receiver and everything else as it is.
static PURE: Names = names!(
    "
    abs absolute? address all? allbits? any? anybits? ascii_only? assoc az basename begin between? bit_length blank?
    bootstrap bsearch bytes bytesize call capitalize casecmp casecmp? ceil center chars chomp chop chr chunk
    chunk_while clamp class clone codepoints coerce collect collect_concat combination compact count cover?
    cycle day decode decode64 default delete_prefix delete_suffix denominator detect difference dig digest
    digits dirname div divmod downcase downto drop drop_while dump dup each each_byte each_char each_codepoint
    each_cons each_entry each_grapheme_cluster each_index each_key each_line each_pair each_slice each_value
    each_with_index each_with_object else else_if_link else_if_p empty? encode encode64 encode_www_form
    encode_www_form_component encoding end end_with? entries eql? equal? escape even? except exclude_end?
    extension extensions extname fdiv fetch filter filter_map find find_all find_index finite? first flat_map flatten
    floor fragment frozen? gcd generate grapheme_clusters grep grep_v group_by gsub h has_key? has_value? hex
    hexdigest host hostname hour html_escape hton id if_link if_p include? index infinite? inject inspect
    instance_of? instances intern intersect? intersection invert ip ipv4? ipv4_mapped ipv6? is_a? iso8601
    issuer itself join key key? keys kind_of? last lazy lcm length lines link link_local? ljust load loopback?
    lstrip map marshal_dump mask match match? max max_by member? merge message method_defined? methods min
    min_by minmax modulo month name nan? native negative? new next nil? nobits? none? not_after not_before now
    numerator oct odd? oid one? opaque ord ordinal p parse partition password path permutation port positive?
    pow pred prefix presence present? pretty_generate prev_float private? product properties public_key
    public_to_pem query quo range rassoc reduce reject relative? remainder request_uri respond_to? reverse
    reverse_each rindex rjust rotate round rpartition rstrip safe_load scan scheme scrub sec select serial
    shellescape shelljoin shellsplit size slice slice_when sort sort_by spec split squeeze start_with? step
    strftime strict_decode64 strict_encode64 strip sub subject succ sum swapcase take take_while tap
    then times to_a to_ary to_c to_date to_der to_f to_h to_hash to_i to_int to_json to_pem to_r
    to_range to_s to_set to_str to_string to_sym to_text to_time to_yaml tr tr_s transform_keys
    cloud_properties dns_record_name gateway netmask transform_values transpose truncate u undump unescape unicode_normalize unicode_normalized? union uniq
    unpack unpack1 upcase upto url_encode urlsafe_decode64 urlsafe_encode64 user userinfo utc valid_encoding?
    value value? values values_at wday with_index with_object yday year yield_self zero? zip
    "
);

/// What of `File` is only about names.
static OF_NAMES: Names = names!(
    "
    basename dirname extname join
    "
);

/// Methods that change their receiver: harmless on an object that the template has made itself.
static CHANGING: Names = names!(
    "
    << add add? append clear compare_by_identity concat delete delete_at delete_if fill force_encoding freeze insert
    keep_if pop prepend push rehash replace setbyte shift store subtract unshift update
    "
);

/// Constants whose pure methods change nothing.
static CONSTANTS: Names = names!(
    "
    ArgumentError Array Base64 Bosh CGI Certificate Common Comparable Date DateTime Digest EOFError ERB
    Encoding EncodingError Enumerable Error Exception FALSE FalseClass Float FloatDomainError FrozenError
    Generic HTTP HTTPS Hash IOError IPAddr IndexError Integer InvalidAddressError InvalidURIError JSON
    KeyError LocalJumpError MD5 Math NIL NameError NilClass NoMethodError NotImplementedError Numeric Object
    OpenSSL OpenStruct PKey ParserError Psych RSA RUBY_VERSION Range RangeError Regexp RegexpError
    RuntimeError SHA1 SHA256 SHA512 Set Shellwords StandardError StopIteration Store String Symbol SyntaxError
    TRUE Template Time TrueClass TypeError URI UTF_8 UncaughtThrowError UnknownLink UnknownProperty Util X509
    YAML ZeroDivisionError
    "
);

/// Libraries that a constant or a method belongs to: worth loading before processes are forked.
const LIBRARIES: &[(&str, &str)] = &[
    ("JSON", "json"),
    ("to_json", "json"),
    ("YAML", "yaml"),
    ("Psych", "yaml"),
    ("to_yaml", "yaml"),
    ("IPAddr", "ipaddr"),
    ("URI", "uri"),
    ("OpenSSL", "openssl"),
    ("Base64", "base64"),
    ("Digest", "digest"),
    ("CGI", "cgi"),
    ("ERB", "erb"),
    ("Shellwords", "shellwords"),
    ("shellescape", "shellwords"),
    ("shelljoin", "shellwords"),
    ("Set", "set"),
    ("to_set", "set"),
    ("Date", "date"),
    ("OpenStruct", "ostruct"),
    ("properties", "ostruct"),
];

/// Libraries that every template finds loaded anyway, so that requiring one changes nothing.
static REQUIRABLE: Names = names!(
    "
    base64 cgi date digest erb ipaddr json openssl ostruct psych set shellwords time uri yaml securerandom
    tempfile tmpdir fileutils logger socket stringio strscan zlib net/http open3 pathname pp timeout digest/md5
    digest/sha1 digest/sha2 resolv delegate forwardable singleton monitor etc benchmark optparse
    "
);

/// Names that make a template's output depend on more than its context: on the time, on addresses and on chance.
static OF_THE_MOMENT: Names = names!(
    "
    now Time Date DateTime object_id generate PKey RSA rand SecureRandom
    "
);

/// Names that a template cannot define for itself without replacing something that exists.
static TAKEN: Names = names!(
    "
    initialize method_missing respond_to? respond_to_missing? inspect to_s class send object_id else else_if_p
    else_if_link openstruct create_evaluation_link get_binding binding eval require copy_property set_property
    sort_property validate_properties_format hash method methods freeze dup clone nil? is_a?
    instance_variable_get instance_variable_set instance_eval to_json to_yaml ActiveElseBlock InactiveElseBlock
    BackCompatOpenStruct
    "
);

/// Whether a template may define a method or constant of this name for itself, to be taken away again.
pub(super) fn may_be_defined(name: &str) -> bool {
    !(TAKEN.contains(name)
        || is_function(name)
        || is_keyword(name)
        || is_known_constant(name)
        || name.starts_with("__"))
}

pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(word)
}

pub(super) fn is_keyword_before_value(word: &str) -> bool {
    BEFORE_VALUE.contains(word)
}

pub(super) fn is_function(word: &str) -> bool {
    FUNCTIONS.contains(word)
}

/// Whether Ruby has a method of this name that reaches beyond the template.
pub(super) fn is_reaching(word: &str) -> bool {
    REACHING.contains(word)
}

pub(super) fn is_pure(word: &str) -> bool {
    PURE.contains(word)
}

pub(super) fn is_changing(word: &str) -> bool {
    CHANGING.contains(word) || word.ends_with('!')
}

pub(super) fn is_known_constant(word: &str) -> bool {
    CONSTANTS.contains(word)
}

/// Whether `File.<word>` only computes.
pub(super) fn is_of_file_names(word: &str) -> bool {
    OF_NAMES.contains(word)
}

pub(super) fn library(word: &str) -> Option<&'static str> {
    LIBRARIES.iter().find(|(w, _)| *w == word).map(|(_, library)| *library)
}

/// All libraries that a word may belong to.
pub(super) fn libraries() -> impl Iterator<Item = &'static str> {
    LIBRARIES.iter().map(|(_, library)| *library)
}

pub(super) fn is_requirable(feature: &str) -> bool {
    REQUIRABLE.contains(feature)
}

pub(super) fn is_of_the_moment(word: &str) -> bool {
    OF_THE_MOMENT.contains(word)
}
