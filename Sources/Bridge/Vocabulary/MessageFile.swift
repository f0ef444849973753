/// Fate of an attachment on its way from the phone to the bridge.
package enum AttachmentOutcome: Hashable, Sendable {
    case file(MessageFile)
    case missing(MissingFile)
}

/// A file that came with a message. It stays on the bridge's disk until the agent has it.
package struct MessageFile: Hashable, Sendable {
    /// One line without a path, for the agent and the person.
    package var name: String
    package var mimeType: String
    package var path: String
    package var size: Int

    package init(name: String, mimeType: String, path: String, size: Int) {
        self.name = name
        self.mimeType = mimeType
        self.path = path
        self.size = size
    }

    /// A picture in a format that every vision model reads. The fetch checked its bytes.
    package var isPicture: Bool { ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(mimeType) }
}

/// Which chats may download attachments. The sealed envelope does not cover them: a relay could inject one.
package enum MessageFiles: String, Hashable, Sendable, CaseIterable {
    case all, open, none

    /// Rest of a sentence that names the refusal, or nil if the chat's files are fetched.
    package func refusal(isSealed: Bool) -> String? {
        switch self {
        case .all: nil
        case .open: isSealed ? "this bridge takes no files in sealed chats" : nil
        case .none: "this bridge takes no files"
        }
    }
}

/// A file that the agent does not get.
package struct MissingFile: Hashable, Sendable {
    package var name: String
    /// The file's fate, as the rest of a sentence that begins with its name.
    package var problem: String

    package init(_ name: String, _ problem: String) {
        self.name = name
        self.problem = problem
    }

    package static func notFetched(_ name: String, _ reason: String) -> MissingFile {
        MissingFile(name, "could not be fetched: \(reason)")
    }

    package static func notPassedOn(_ name: String, _ reason: String) -> MissingFile {
        MissingFile(name, "was not passed on: \(reason)")
    }

    package var sentence: String { "\(name) \(problem)." }
}

extension Attachment {
    /// The attachment's name in sentences: one line, no path, no character with a meaning to a terminal or a file system.
    package var plainName: String {
        let last = (name ?? "").split { $0 == "/" || $0 == "\\" }.last ?? ""
        // Sentences to the agent put the name in brackets, and a name must not close them.
        let plain = last.unicodeScalars.filter { $0.properties.isPrintable && !"[]".unicodeScalars.contains($0) }
        var text = String(String.UnicodeScalarView(plain)).split { $0.isWhitespace }.joined(separator: " ")
        while text.hasPrefix(".") { text.removeFirst() }
        while text.utf8.count > 120 { text.removeLast() }
        if !text.isEmpty { return text }
        return mimeType?.hasPrefix("image/") == true ? "picture" : "file"
    }
}

extension Unicode.Scalar.Properties {
    /// Whether the character draws something and is no control character.
    fileprivate var isPrintable: Bool {
        switch generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}

extension UserMessage {
    /// Number of fetched files per message.
    package static let attachmentLimit = 16

    /// Fetched files.
    package var files: [MessageFile] {
        attachments.compactMap { if case .file(let file) = $0.outcome { file } else { nil } }
    }

    package var missing: [MissingFile] {
        attachments.compactMap { if case .missing(let file) = $0.outcome { file } else { nil } }
    }

    package var holdsFilesAlone: Bool { text.allSatisfy(\.isWhitespace) && !attachments.isEmpty }

    /// The agent's prompt. A message of files alone asks with their names. The journal stores all parts
    /// of it: a restarted bridge finds the same prompt in the agent's history.
    package var prompt: String {
        guard holdsFilesAlone else { return text }
        return "Files sent: \(attachments.map(\.plainName).joined(separator: ", "))"
    }
}
