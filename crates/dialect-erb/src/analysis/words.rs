//! What the analysis knows of Ruby's words.

use std::collections::HashSet;
use std::sync::LazyLock;

/// A set of words, written one after the other.
macro_rules! words {
    ($text:literal) => {
        LazyLock::new(|| $text.split_whitespace().collect())
    };
}

type Words = LazyLock<HashSet<&'static str>>;

/// Keywords that change nothing outside the template.
static KEYWORDS: Words = words!(
    "
    and begin break case do else elsif end ensure false for if in loop next nil not or redo rescue retry return
    self then true unless until when while yield
    "
);

/// Keywords after which a value begins, so that `/` and `%` open a literal.
static BEFORE_VALUE: Words = words!(
    "
    and case do else elsif ensure if in not or rescue return then unless until when while begin
    "
);

/// Methods of the evaluation context and of Kernel that change nothing.
static FUNCTIONS: Words = words!(
    "
    block_given? format if_link if_p index lambda link name p proc properties raise raw_properties spec sprintf
    Integer Float String Array _erbout lookup_property
    "
);

/// Methods that leave their receiver and everything else as it is.
static PURE: Words = words!(
    "
    abs address all? any? ascii_only? az between? blank? bootstrap bytes bytesize call capitalize ceil chars
    chomp chop class clone coerce collect collect_concat compact count cycle decode decode64 default detect dig
    digest difference div divmod downcase drop drop_while dump dup each each_char each_cons each_entry each_key
    each_line each_pair each_slice each_value each_with_index each_with_object else else_if_link else_if_p
    empty? encode encode64 encode_www_form encode_www_form_component encoding end_with? entries eql? equal?
    escape even? except fetch filter filter_map find find_all find_index first flat_map flatten floor generate
    grep grep_v group_by gsub has_key? has_value? hex hexdigest host html_escape id if_link if_p include? index
    inject inspect instance_of? instances intersect? intersection invert ip ipv4? ipv6? is_a? iso8601 join key
    key? keys kind_of? last length lines link ljust lstrip map marshal_dump match match? max max_by member?
    merge message methods min min_by minmax modulo name new next nil? none? now odd? ordinal p parse partition
    path port positive? presence present? pretty_generate prefix product properties query quo range reduce
    reject respond_to? reverse reverse_each rindex rjust rotate round rpartition rstrip safe_load scan scheme
    select shelljoin shellescape shellsplit size slice sort sort_by spec split squeeze start_with? step strftime
    strict_decode64 strict_encode64 strip sub succ sum swapcase take take_while tally tap then times to_a to_ary
    to_c to_f to_h to_hash to_i to_int to_json to_pem to_proc to_r to_s to_set to_str to_sym to_yaml tr tr_s
    transform_keys transform_values transpose truncate unescape union uniq unpack unpack1 upcase upto downto
    url_encode urlsafe_encode64 urlsafe_decode64 user password hostname utc valid_encoding? value? values
    values_at with_index with_object yield_self zero? negative? zip h u load lazy
    "
);

/// Methods that change their receiver: harmless on an object that the template has made itself.
static CHANGING: Words = words!(
    "
    << append clear compare_by_identity concat delete delete_at delete_if fill freeze insert keep_if pop prepend
    push replace shift store unshift update
    "
);

/// Constants whose pure methods change nothing.
static CONSTANTS: Words = words!(
    "
    ArgumentError Array Base64 CGI Certificate Comparable Date DateTime Digest ERB Enumerable Error Exception
    FalseClass Float Hash IPAddr Integer InvalidAddressError InvalidURIError JSON KeyError MD5 Math NilClass
    NoMethodError Numeric Object OpenSSL OpenStruct ParserError Psych Range RangeError Regexp RuntimeError SHA1
    SHA256 SHA512 Set Shellwords StandardError String Symbol SyntaxError Time TrueClass TypeError URI
    UnknownLink UnknownProperty Util X509 YAML Bosh Common Template Store PKey RSA
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
static REQUIRABLE: Words = words!(
    "
    base64 cgi date digest erb ipaddr json openssl ostruct psych set shellwords time uri yaml securerandom
    tempfile tmpdir fileutils logger socket stringio strscan zlib net/http open3 pathname pp timeout digest/md5
    digest/sha1 digest/sha2 resolv delegate forwardable singleton monitor etc benchmark optparse
    "
);

/// Words that make a template's output depend on more than its job's properties and links.
static OF_THE_INSTANCE: Words = words!(
    "
    spec index name rand now SecureRandom Time Date object_id
    "
);

/// Names that a template cannot define for itself without replacing something that is there.
static TAKEN: Words = words!(
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

pub(super) fn is_pure(word: &str) -> bool {
    PURE.contains(word)
}

pub(super) fn is_changing(word: &str) -> bool {
    CHANGING.contains(word) || word.ends_with('!')
}

pub(super) fn is_known_constant(word: &str) -> bool {
    CONSTANTS.contains(word)
}

pub(super) fn library(word: &str) -> Option<&'static str> {
    LIBRARIES.iter().find(|(w, _)| *w == word).map(|(_, library)| *library)
}

pub(super) fn is_requirable(feature: &str) -> bool {
    REQUIRABLE.contains(feature)
}

pub(super) fn is_of_the_instance(word: &str) -> bool {
    OF_THE_INSTANCE.contains(word)
}
