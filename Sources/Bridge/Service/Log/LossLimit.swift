package import Vocabulary

/// Losses of links that are worth a line: a link that is tried every 15 s for days says why once, then now and then.
///
/// A loss is known by its connection, its link and its reason. If only its remedy has changed it is reported again after a minute (a new
/// request to pair has a new name), otherwise after an hour. Once the link is back, the next loss is news.
package struct LossLimit: Sendable {
    private struct Key: Hashable {
        var connection: ConnectionName
        var link: LinkName
        var reason: String
    }

    private struct Told {
        var at: Instant
        var remedy: String?
    }

    private static let sameAgain = Duration.seconds(3_600)
    private static let otherRemedy = Duration.seconds(60)
    /// Reasons carry words from outside; at this number all are forgotten, and reported again.
    private static let reasonLimit = 256

    private var told: [Key: Told] = [:]

    package init() {}

    package mutating func isNews(
        _ connection: ConnectionName, _ link: LinkName, _ reason: String, remedy: String?, at now: Instant
    ) -> Bool {
        let key = Key(connection: connection, link: link, reason: reason)
        if let last = told[key] {
            let pause = last.remedy == remedy ? Self.sameAgain : Self.otherRemedy
            guard now - last.at >= pause else { return false }
        }
        if told.count >= Self.reasonLimit { told = [:] }
        told[key] = Told(at: now, remedy: remedy)
        return true
    }

    package mutating func isBack(_ connection: ConnectionName, _ link: LinkName) {
        told = told.filter { $0.key.connection != connection || $0.key.link != link }
    }
}
