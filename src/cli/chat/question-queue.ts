// Questions to the person, one at a time: a terminal has one line to type in.

export class QuestionQueue {
  #last: Promise<unknown> = Promise.resolve();

  async run<T>(ask: () => Promise<T>): Promise<T> {
    const answered = this.#last.then(ask);
    this.#last = answered.catch(() => {});
    return await answered;
  }
}
