import Glibc
import Vocabulary

/// Text changes of runs, built from the agent's messages (`agent` frames, stream `assistant`).
///
/// Where a run has both streams, `chat` supplies its end alone: from a run's second message on it leaves out repeated pieces
/// (E2), it lacks the last words before a tool (E1), and it joins messages and failed attempts without a separator (E2, E3).
///
/// A run's source is the stream that brought its first text, until its end. A run whose beginning was missed
/// takes `assistant`, since `chat` may arrive first there and joins the missed text to the new one. For a run
/// whose source is `assistant`, its newest message is kept in one of these states:
/// - `speaking`: text that extends the message continues it. Can transition to: between, unsure.
/// - `between`: a tool was called, and the next text begins a message. Can
///   transition to: speaking (of the next message), unsure.
/// - `unsure`: frames were missed. Text that extends the message continues it, any other begins a
///   message, and text between the two may be missing. Can transition to: speaking.
///
/// Invariants, for any frames:
/// - A message begins where its addition (`delta`) is all of its text, after a tool, or where its
///   text does not extend the last one. A text replaces that of the same message only if the frame says
///   so (`replace`) or if its addition is the end of the text and not all of it.
/// - A frame without an addition is a snapshot. It adds nothing if it is the beginning or end of the known text, apart from
///   white space: agents that wrap other programs send their last message this way, after texts that grow over the whole run.
/// - A frame merged from two messages has an addition that begins with the rest of the first.
/// - A new attempt keeps nothing of the attempt before it (`forget`).
/// - A message that is a word for silence, or may still become one, is not shown before the end.
struct SpokenTexts {
    private struct Message {
        enum State { case speaking, between, unsure }

        var bytes: [UInt8] = []
        var state = State.speaking
        /// The message was not shown, since it may become a word for silence.
        var isHeld = false
        /// The message belongs to a failed attempt.
        var hasFailed = false
        /// Bytes of the run's messages before this one.
        var before = 0
        /// Paths of files that the agent sent with the run.
        var files: [String] = []
        /// A file came with this text, which may be its directive.
        var hasFiles = false
        /// Number of the message's last frame, counted over all runs.
        var heard = 0
    }

    /// One `assistant` frame.
    struct Frame {
        var text: UnsafeRawBufferPointer
        var addition: UnsafeRawBufferPointer?
        var replaces = false
        var hasFiles = false
    }

    /// Runs with a kept message. Beyond this the run that was silent for longest loses
    /// its text, and its next frame is compared with the text of the turn.
    private static let limit = 256
    private static let byteLimit = 16 << 20
    private static let filesLimit = 32
    /// An agent with nothing to say answers with one of these, in any case, with white space around it.
    private static let silence = [
        "no_reply", "reply_skip", "announce_skip", "heartbeat_ok", #"{"action":"no_reply"}"#,
    ].map { Array($0.utf8) }
    private static let longestSilence = 64
    /// Beginnings of directives to the gateway, which takes a whole directive out of the text.
    private static let directives = ["[[", "media:"].map { Array($0.utf8) }

    private var newest: [RunID: Message] = [:]
    private var bytes = 0
    private var frames = 0
    /// Runs whose source is `chat`.
    private var byChat: Set<RunID> = []
    /// Runs with missed frames.
    private var missed: Set<RunID> = []
    /// Runs with several attempts: the text of the terminal frame may join them.
    private var retried: Set<RunID> = []

    // MARK: The source

    func isSpoken(_ run: RunID) -> Bool { newest[run] != nil }

    /// Notes a text of the run in `chat`. False if `chat` is not the run's source.
    mutating func cameByChat(_ run: RunID) -> Bool {
        guard newest[run] == nil, !missed.contains(run) else { return false }
        if byChat.count >= Self.limit { byChat.removeAll() }
        byChat.insert(run)
        return true
    }

    mutating func missed(_ run: RunID) {
        if missed.count >= 2 * Self.limit { missed.removeAll() }
        if !byChat.contains(run) { missed.insert(run) }
        newest[run]?.state = .unsure
    }

    // MARK: What was said

    mutating func said(_ frame: Frame, in run: RunID) -> [TextChange] {
        guard !byChat.contains(run), frame.text.count > 0 || frame.replaces && newest[run] != nil else { return [] }
        makeRoom(for: frame.text.count, of: run)
        frames += 1
        guard let index = newest.index(forKey: run) else {
            newest[run] = Message(
                bytes: Array(frame.text), isHeld: Self.mayBeUnsaid(frame.text), hasFiles: frame.hasFiles, heard: frames)
            bytes += frame.text.count
            return newest[run]?.isHeld == true ? [] : [.segment(Self.words(frame.text[...]))]
        }
        // Changed in place: a copy of the message's bytes for each frame would be the largest cost.
        bytes -= newest.values[index].bytes.count
        let changes = Self.take(frame, into: &newest.values[index], heard: frames)
        bytes += newest.values[index].bytes.count
        return changes
    }

    private static func take(_ frame: Frame, into known: inout Message, heard: Int) -> [TextChange] {
        known.heard = heard
        known.hasFiles = known.hasFiles || frame.hasFiles
        if frame.addition == nil, !frame.replaces, isPart(frame.text, of: known.bytes) { return [] }
        let extends = begins(frame.text, with: known.bytes)
        if goesOn(frame, known, extends) { return grow(&known, to: frame, extends) }
        return frame.text.count > 0 ? begin(frame, after: &known) : []
    }

    /// A frame with an addition alone (E4).
    mutating func added(_ addition: UnsafeRawBufferPointer, in run: RunID) -> [TextChange] {
        guard let known = newest[run], known.state != .between else {
            return said(Frame(text: addition, addition: addition), in: run)
        }
        return (known.bytes + addition).withUnsafeBytes { said(Frame(text: $0, addition: addition), in: run) }
    }

    private static func goesOn(_ frame: Frame, _ known: Message, _ extends: Bool) -> Bool {
        if frame.replaces { return known.state != .between }
        guard let addition = frame.addition else { return extends && known.state != .between }
        guard addition.count < frame.text.count else { return false }
        if extends { return true }
        // E1 sends no frame for text that it strips, so the new text may not extend the known one.
        return known.state == .speaking && !addition.isEmpty
            && addition.elementsEqual(frame.text[(frame.text.count - addition.count)...])
    }

    private static func grow(_ known: inout Message, to frame: Frame, _ extends: Bool) -> [TextChange] {
        let (count, wasUnsure, wasHeld) = (known.bytes.count, known.state == .unsure, known.isHeld)
        known.state = .speaking
        known.isHeld = known.isHeld && mayBeUnsaid(frame.text)
        guard extends else {
            known.bytes = Array(frame.text)
            return known.isHeld ? [] : [.replaced(words(frame.text[...]))]
        }
        known.bytes.append(contentsOf: frame.text[count...])
        if known.isHeld { return [] }
        if wasUnsure || wasHeld { return [.segment(words(frame.text[...]))] }
        return frame.text.count > count ? [.append(words(frame.text[count...]))] : []
    }

    /// Ends the known message, with the part of the addition that belongs to it, and begins the next.
    private static func begin(_ frame: Frame, after known: inout Message) -> [TextChange] {
        var changes: [TextChange] = []
        if let addition = frame.addition, addition.count > frame.text.count,
            addition[(addition.count - frame.text.count)...].elementsEqual(frame.text)
        {
            let rest = addition[..<(addition.count - frame.text.count)]
            known.bytes.append(contentsOf: rest)
            changes.append(.append(words(rest)))
        }
        let isSilent = known.isHeld && (isSilence(known.bytes) || isDirective(known))
        if known.isHeld, !isSilent { changes = [.segment(String(decoding: known.bytes, as: UTF8.self))] }
        if !isSilent {
            let said = trimmed(known.bytes)
            changes.append(.segmentEnded(said.count < known.bytes.count ? String(decoding: said, as: UTF8.self) : nil))
        }
        known.before += isSilent ? 0 : known.bytes.count
        known.bytes = Array(frame.text)
        known.state = .speaking
        known.hasFiles = frame.hasFiles
        known.isHeld = mayBeUnsaid(frame.text)
        return known.isHeld ? changes : changes + [.segment(words(frame.text[...]))]
    }

    mutating func toolBegan(in run: RunID) {
        if newest[run]?.state == .speaking { newest[run]?.state = .between }
    }

    mutating func sent(_ files: [String], in run: RunID) {
        guard newest[run] != nil || !files.isEmpty, !byChat.contains(run) else { return }
        if newest[run] == nil {
            makeRoom(for: 0, of: run)
            frames += 1
            newest[run] = Message(heard: frames)
        }
        for file in files where (newest[run]?.files.count ?? 0) < Self.filesLimit {
            if newest[run]?.files.contains(file) == false { newest[run]?.files.append(file) }
        }
    }

    // MARK: The end

    /// The run's last words and its files. `whole`: text of the terminal frame,
    /// which may have words that no `assistant` frame had.
    mutating func ends(_ run: RunID, whole: UnsafeRawBufferPointer?) -> (text: String?, files: [String]) {
        byChat.remove(run)
        missed.remove(run)
        let isRetried = retried.remove(run) != nil
        guard let known = newest.removeValue(forKey: run) else { return (nil, []) }
        bytes -= known.bytes.count
        if known.isHeld, Self.isSilence(known.bytes) { return (nil, known.files) }
        var last = known.bytes
        // From the second message or attempt on, the terminal frame's text is not what the agent wrote (E2, E3).
        if let whole, known.state != .between, known.before == 0, !isRetried, whole.count > last.count,
            Self.begins(whole, with: last)
        {
            last = Array(whole)
        } else if known.state == .unsure {
            // The last words were missed.
            return (nil, known.files)
        }
        let said = Self.trimmed(last)
        return (said.isEmpty ? nil : String(decoding: said, as: UTF8.self), known.files)
    }

    mutating func attemptFailed(in run: RunID) { newest[run]?.hasFailed = true }

    /// Drops the text of a run whose next attempt begins. Returns true if the attempt had text and is not known to have failed.
    mutating func forget(_ run: RunID) -> Bool {
        byChat.remove(run)
        guard let known = newest.removeValue(forKey: run) else { return false }
        if retried.count >= Self.limit { retried.removeAll() }
        retried.insert(run)
        bytes -= known.bytes.count
        return !known.bytes.isEmpty && !known.hasFailed
    }

    mutating func socketLost() { for run in newest.keys { newest[run]?.state = .unsure } }

    // MARK: Bytes

    private mutating func makeRoom(for count: Int, of run: RunID) {
        let grows = count - (newest[run]?.bytes.count ?? 0)
        while newest[run] == nil && newest.count >= Self.limit || bytes + grows > Self.byteLimit {
            // The runs silent for longest include those whose end was missed.
            let others = newest.lazy.filter { $0.key != run }
            guard let next = others.min(by: { $0.value.heard < $1.value.heard })?.key ?? newest.keys.first else {
                return
            }
            bytes -= newest.removeValue(forKey: next)?.bytes.count ?? 0
        }
    }

    private static func begins(_ text: UnsafeRawBufferPointer, with known: [UInt8]) -> Bool {
        guard text.count >= known.count else { return false }
        return known.withUnsafeBytes { bytes in
            guard let left = bytes.baseAddress, let right = text.baseAddress, !bytes.isEmpty else { return true }
            return memcmp(left, right, bytes.count) == 0
        }
    }

    /// The text without white space at its end: a blank line follows, or nothing.
    private static func trimmed(_ text: [UInt8]) -> ArraySlice<UInt8> {
        text.prefix((text.lastIndex { $0 > 0x20 } ?? -1) + 1)
    }

    private static func words(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// Whether the text is a word for silence, or the beginning of one or of a directive.
    private static func mayBeUnsaid(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count <= longestSilence else { return false }
        let said = plain(text)
        return (silence + directives).contains { $0.starts(with: said) }
    }

    private static func isSilence(_ text: [UInt8]) -> Bool {
        text.count <= longestSilence && silence.contains(plain(text))
    }

    /// Whether the message is the beginning of a directive that the gateway took out when it was whole. A message before
    /// a tool is complete, so it is none; a beginning of `MEDIA:` counts only if a file came with it.
    private static func isDirective(_ known: Message) -> Bool {
        let said = plain(known.bytes)
        guard directives.contains(where: { $0.starts(with: said) }) else { return false }
        return said.first == UInt8(ascii: "[") ? known.state != .between : known.hasFiles
    }

    /// The text in lower case and without white space.
    private static func plain(_ text: some Sequence<UInt8>) -> [UInt8] {
        text.filter { $0 > 0x20 }.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Whether the text is a beginning or an end of the known one, apart from white space at the ends. An empty text is.
    private static func isPart(_ text: UnsafeRawBufferPointer, of known: [UInt8]) -> Bool {
        let (said, all) = (trimmed(Array(text)).drop { $0 <= 0x20 }, trimmed(known).drop { $0 <= 0x20 })
        return all.starts(with: said) || all.count >= said.count && all.suffix(said.count).elementsEqual(said)
    }
}
