import Glibc

/// A file that could not be read or written, in words for the one who can mend it.
package struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case unreadable, unwritable
        /// It is over its bound.
        case tooLarge
        /// It was read and is not what it must be.
        case malformed
        /// Another user of the machine owns it.
        case foreign
        /// Another process holds it.
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
