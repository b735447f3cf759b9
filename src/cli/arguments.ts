// What reading words comes to: options, or which word was wrong.

export type Parsed<T> = { readonly ok: true; readonly options: T } | { readonly ok: false; readonly reason: string };
