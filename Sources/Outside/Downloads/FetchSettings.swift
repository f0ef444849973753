package import Vocabulary

/// Limits of the attachment fetcher: addresses, sizes and timeouts.
package struct FetchSettings: Sendable {
    /// The relay's address. Only this host may be in a private network or speak plain HTTP.
    package var relay: WebAddress
    /// CA file of the relay's private authority, or nil for the system's store. Other hosts are always checked against
    /// the system's store.
    package var authorityFile: String?
    package var fileLimit = 26_214_400
    /// Timeout of one file, redirects included.
    package var timeLimit = Duration.seconds(60)
    /// Slowest accepted server: a download below this many bytes a second for this long times out.
    package var leastPace = (bytes: 1_000, over: Duration.seconds(15))

    /// Queue timeout of a message before its first try, and again for all later tries together.
    package var waitLimit = Duration.seconds(180)

    // Overrides for tests, which have no public host.

    /// Entries in the form of `curl --resolve`.
    package var resolve: [String] = []
    package var isAllowed: @Sendable (NumericAddress) -> Bool = { $0.isPublic }
    /// CA file for hosts other than the relay.
    package var foreignAuthorityFile: String?

    package static let countLimit = UserMessage.attachmentLimit
    static let redirectLimit = 5
    static let workerLimit = 4

    /// Byte limit of all files of one message together.
    var messageLimit: Int { fileLimit * 4 }
    /// Timeout of all tries of a message, without the time in the queue.
    var messageTimeLimit: Duration { timeLimit + timeLimit + timeLimit }

    package init(relay: WebAddress) { self.relay = relay }
}

/// Why a file was not fetched, as the rest of a sentence. The text never contains the address: anybody who knows a
/// signed address can fetch the file.
struct FetchProblem: Error, Hashable {
    var reason: String

    init(_ reason: String) { self.reason = reason }

    static let noAddress = FetchProblem("the message does not say where it is")
    static let badAddress = FetchProblem("its address cannot be used")
    static let notEncrypted = FetchProblem("its address is not encrypted (https)")
    static let privateAddress = FetchProblem("its address leads into a private network")
    static let tooManyRedirects = FetchProblem("its address leads from one server to the next without an end")
    static let tooSlow = FetchProblem("the server is too slow")
    static let lost = FetchProblem("the connection broke off before it was whole")
    static let unreadable = FetchProblem("the server's answer could not be read")
    static let packed = FetchProblem("the server sent it packed, which was not asked for")
    static let empty = FetchProblem("it is empty")
    static let noPicture = FetchProblem("it is not the picture that it is said to be")
    static let page = FetchProblem("the server sent a web page instead of it")
    static let noSuchKind = FetchProblem("it is not of the kind that it is said to be")
    static let diskFull = FetchProblem("the bridge's disk is full")
    static let diskLow = FetchProblem("the bridge's disk is nearly full")
    static let notBegun = FetchProblem("too many files were to be fetched at the same time")
    static let noTimeLeft = FetchProblem("the files before it took too long")
    static let noRoom = FetchProblem("too many files wait for the agent")
    static let cancelled = FetchProblem("it is not wanted any more")
    static let noThread = FetchProblem("the bridge has no room for more work")
    static let tooMany = FetchProblem("a message may have \(FetchSettings.countLimit) files")

    static let tooMuch = FetchProblem("the files of this message are too large together")

    static func tooLarge(_ limit: Int) -> FetchProblem {
        FetchProblem(limit < 1 << 20 ? "it is larger than \(limit) bytes" : "it is larger than \(limit >> 20) MB")
    }

    static func status(_ status: Int) -> FetchProblem { FetchProblem("the server answered \(status)") }
    static func notWritten(_ reason: String) -> FetchProblem { FetchProblem("the bridge cannot store it (\(reason))") }
}
