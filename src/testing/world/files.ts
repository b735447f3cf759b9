// Files in memory, with what a crash would have kept told apart from what was only written.
import type { AppendFile, Files } from "../../base/world.js";

interface Content {
  text: string;
  syncedLength: number;
  openCount: number;
}

export class FakeFiles implements Files {
  readonly #contents = new Map<string, Content>();

  constructor(initial: Readonly<Record<string, string>> = {}) {
    for (const [path, text] of Object.entries(initial)) this.write(path, text);
  }

  /** Puts a file there, or replaces it. */
  write(path: string, text: string): void {
    this.#contents.set(path, { text, syncedLength: text.length, openCount: 0 });
  }

  get paths(): readonly string[] {
    return [...this.#contents.keys()];
  }

  /** The text so far, synced or not; undefined when there is no such file. */
  text(path: string): string | undefined {
    return this.#contents.get(path)?.text;
  }

  /** The part that was forced to the disk. */
  syncedText(path: string): string | undefined {
    const content = this.#contents.get(path);
    return content?.text.slice(0, content.syncedLength);
  }

  /** Files opened and not closed again. */
  get openPaths(): readonly string[] {
    return this.paths.filter((path) => (this.#contents.get(path)?.openCount ?? 0) > 0);
  }

  openAppend(path: string): AppendFile {
    const content = this.#contents.get(path) ?? { text: "", syncedLength: 0, openCount: 0 };
    this.#contents.set(path, content);
    content.openCount++;
    let isOpen = true;
    const assertOpen = () => {
      if (!isOpen) throw new Error(`${path} is closed`);
    };
    return {
      write: (text) => {
        assertOpen();
        content.text += text;
      },
      sync: () => {
        assertOpen();
        content.syncedLength = content.text.length;
      },
      close: () => {
        if (isOpen) content.openCount--;
        isOpen = false;
      },
    };
  }

  async readText(path: string): Promise<string> {
    const content = this.#contents.get(path);
    if (content) return content.text;
    throw Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: "ENOENT", path });
  }
}
