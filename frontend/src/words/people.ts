/** What a person is called: the display name, or else the name that they sign in with. */
export const shownName = (person: { username: string; display_name: string }): string =>
  person.display_name || person.username;
