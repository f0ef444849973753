import Glibc

/// A thread that could not be started, for lack of processes or of memory.
package struct ThreadFault: Error, Hashable, Sendable, CustomStringConvertible {
    package var purpose: String
    package var status: Int32

    package init(purpose: String, status: Int32) {
        self.purpose = purpose
        self.status = status
    }

    package var description: String {
        "cannot start a thread for \(purpose): \(String(cString: strerror(status))); raise the limit of processes "
            + "(`ulimit -u`, TasksMax=) or give it more memory, and start again"
    }
}
