import Vocabulary

/// The headers of a response that a bridge uses (relay.md#headers, relay.md#headers-on-every-bridge-response), read in one pass.
struct RelayHeaders {
    private(set) var request: RequestID?
    private(set) var retryAfter: String?
    /// The relay's clock, in seconds since 1970.
    private(set) var date: Int64?
    private var namesBucket = false
    private var bucket: RelayBucket?
    private var limit: Int?
    private var remaining: Int?
    private var resetAfter: Duration?

    init(_ response: HTTPResponse) {
        response.forEachHeader { read($0) }
    }

    /// Nil if the response names neither a bucket nor its levels.
    var rate: RateReading? {
        guard namesBucket || remaining != nil || limit != nil else { return nil }
        return RateReading(bucket: bucket, limit: limit, remaining: remaining, resetAfter: resetAfter)
    }

    /// The length distinguishes most names. The last line of a name counts.
    private mutating func read(_ line: HeaderLine) {
        switch line.nameLength {
        case 4 where line.isNamed("date"): date = HTTPDate.seconds(line.text)
        case 11 where line.isNamed("retry-after"): retryAfter = line.text
        case 12 where line.isNamed("x-request-id"): request = RequestID(Self.start(of: line.text))
        case 17 where line.isNamed("x-ratelimit-limit"): limit = line.count
        case 18 where line.isNamed("x-ratelimit-bucket"):
            namesBucket = true
            bucket = RelayBucket(rawValue: line.text)
        case 21 where line.isNamed("x-ratelimit-remaining"): remaining = line.count
        case 23 where line.isNamed("x-ratelimit-reset-after"): resetAfter = OutsideNumber.seconds(line.text)
        default: break
        }
    }

    /// At most 64 characters. Counting them is the most expensive step here, and few bytes cannot be many characters.
    private static func start(of text: String) -> String {
        text.utf8.count <= 64 ? text : String(text.prefix(64))
    }
}
