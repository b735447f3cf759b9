// Notes, kept in memory for as long as the server runs.

export interface Note {
  readonly id: number;
  readonly text: string;
}

const MAX_NOTES = 1_000;

export class Notebook {
  readonly #notes: Note[] = [];

  get all(): readonly Note[] {
    return this.#notes;
  }

  add(text: string): Note {
    const trimmed = text.trim();
    if (trimmed === "") throw new Error("A note needs some text.");
    if (this.#notes.length >= MAX_NOTES) throw new Error(`The notebook is full: it holds ${MAX_NOTES} notes.`);
    const note = { id: this.#notes.length + 1, text: trimmed };
    this.#notes.push(note);
    return note;
  }

  /** Notes that contain every word of the query, in any order and case. */
  search(query: string): readonly Note[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) throw new Error("A search needs at least one word.");
    return this.#notes.filter((note) => words.every((word) => note.text.toLowerCase().includes(word)));
  }
}

export function formatNotes(notes: readonly Note[]): string {
  return notes.map((note) => `${note.id}. ${note.text}`).join("\n");
}
