package import AgentKit
import Files
import Locking
import Recording
package import Vocabulary

/// `--record`: every frame of one connection's links, with secrets covered, in a file that can be replayed.
///
/// A recording that can no longer be written ends, which is reported once; the bridge continues.
package final class Recorder: Sendable {
    // The writer is not `Sendable`: it is touched under the lock alone.
    private struct Writer: @unchecked Sendable {
        var writer: RecordingWriter?
        var coversWords = false
    }

    package let file: String
    private let writer: Locked<Writer>
    private let connection: String
    private let clock: any Clock
    private let origin: Instant
    private let ended: @Sendable (any Error) -> Void

    /// `ended` is called once, when the file can no longer be written.
    package init(
        directory: String, connection: ConnectionName, agent: AgentKind, clock: any Clock, hiding secrets: SecretCover,
        ended: @escaping @Sendable (any Error) -> Void
    ) throws {
        try PrivateFile.makeDirectory(directory)
        let date = ISOTime.text(clock.wallMilliseconds)
        file = "\(directory)/\(connection)-\(date.replacing(":", with: "")).jsonl"
        self.connection = connection.text
        self.clock = clock
        self.ended = ended
        origin = clock.now
        writer = Locked(
            Writer(
                writer: try RecordingWriter(file: file, agent: agent.rawValue, date: date) { line, link in
                    link == .agent ? secrets.covered(pieceOf: line) : secrets.covered(line)
                }))
    }

    /// The relay's link is stream 2, a number from the time when the agent had one channel; the agent's channels are the others.
    package var relay: @Sendable (Bool, [UInt8]) -> Void {
        { [self] isIncoming, frame in record(frame, .relay, stream: 2, isIncoming: isIncoming) }
    }

    package var agent: @Sendable (ChannelID, Bool, [UInt8]) -> Void {
        { [self] channel, isIncoming, frame in
            record(
                frame, .agent, stream: channel.number > 1 ? channel.number + 1 : 1, isIncoming: isIncoming)
        }
    }

    /// Leaves out all words to and from the agent from this call on.
    package func coverWords() { writer.withLock { $0.coversWords = true } }

    private func record(_ frame: [UInt8], _ link: RecordedEntry.Link, stream: Int, isIncoming: Bool) {
        var entry = EntryToRecord(
            milliseconds: (clock.now - origin).nanoseconds / 1_000_000, link: link, connection: connection,
            stream: stream, direction: isIncoming ? .incoming : .outgoing, content: .frame(frame))
        let failure: (any Error)? = writer.withLock { held in
            entry.coversWords = held.coversWords && link == .agent
            do { try held.writer?.write(entry) } catch {
                held.writer = nil
                return error
            }
            return nil
        }
        if let failure { ended(failure) }
    }
}
