/** Roles of users. Each operation names those that may call it. */
export const ROLES = ['OWNER', 'MANAGER', 'CASHIER', 'VIEWER'] as const;
export type Role = (typeof ROLES)[number];

export const OWNERS = ['OWNER'] as const satisfies readonly Role[];
export const MANAGERS = ['OWNER', 'MANAGER'] as const satisfies readonly Role[];
/** Roles that sell at a counter. */
export const SELLERS = ['OWNER', 'MANAGER', 'CASHIER'] as const satisfies readonly Role[];
export const READERS = ['OWNER', 'MANAGER', 'VIEWER'] as const satisfies readonly Role[];
