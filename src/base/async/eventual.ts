// A value that is there already, or comes: most steps of a tool call need not wait, and waiting costs more than they do.

export type Eventual<T> = T | Promise<T>;

/** Goes on at once where the value is there. */
export function whenThere<T, U>(value: Eventual<T>, goOn: (value: T) => Eventual<U>): Eventual<U> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
