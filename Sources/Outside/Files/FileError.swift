import Glibc

/// A failure to read or write a file, in words for the person who can repair it.
package struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case unreadable, unwritable
        /// The file exceeds its size limit.
        case tooLarge
        /// The content has the wrong format.
        case malformed
        /// Another user of the machine owns the file.
        case foreign
        /// Another process holds the file's lock.
        case inUse
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }

    static func ofSystem(_ code: Code, _ doing: String, remedy: String) -> FileError {
        FileError(code, "\(doing): \(String(cString: strerror(errno))); \(remedy)")
    }
}
