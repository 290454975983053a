/** Line icons in the colour of the text beside them. They are decoration: the text
 *  says everything. */
const PATHS = {
  overview: 'M4 13h6V4H4zm10 7h6V4h-6zM4 20h6v-3H4z',
  till: 'M5 3h14v6H5zM4 9h16v12H4zm4 4h.01M12 13h.01M16 13h.01M8 17h.01M12 17h.01M16 17h.01',
  payments: 'M12 3v13m0 0-5-5m5 5 5-5M4 21h16',
  products: 'M3.5 7.5 12 3l8.5 4.5v9L12 21l-8.5-4.5zm0 0L12 12m0 0 8.5-4.5M12 12v9',
  links: 'M10 14a4 4 0 0 0 5.7 0l3-3A4 4 0 0 0 13 5.300l-1 1m2 3.700a4 4 0 0 0-5.700 0l-3 3A4 4 0 0 0 11 18.700l1-1',
  checkouts: 'M6 3h12v18l-3-2-3 2-3-2-3 2zm3 5h6m-6 4h6',
  coupons: 'M4 6h16v4a2 2 0 0 0 0 4v4H4v-4a2 2 0 0 0 0-4zm10 0v3m0 2.500v1m0 2.500v3',
  wallets: 'M4 7h15v12H4zm0 0 11-3v3m1 6h.01',
  webhooks: 'M6 8a6 6 0 0 1 12 0c0 7 2 8 2 8H4s2-1 2-8m4 12a2 2 0 0 0 4 0',
  people: 'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8m-7 9c0-4 3-6 7-6s7 2 7 6M16 4a4 4 0 0 1 0 7m2 4c3 .6 4 2.500 4 5',
  keys: 'M14 10a4 4 0 1 0-3.400 3.950L12.500 16H15v2h2v2h4v-3.500l-7.200-5.500',
  shop: 'M4 10v10h16V10M3 10l2-6h14l2 6zm6 10v-6h6v6',
  currencies: 'M17 6.500A6.500 6.500 0 1 0 17 17.500M4 10.500h8M4 13.500h8',
  mail: 'M3.500 6h17v12h-17zm0 .5 8.500 7 8.500-7',
  activity: 'M12 7v5l3 2M4 12a8 8 0 1 0 2.500-5.800L4 8.500M4 4v4.500h4.500',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'm5 12.500 4.500 4.500L19 7.500',
  menu: 'M4 7h16M4 12h16M4 17h16',
  plus: 'M12 5v14m-7-7h14',
  out: 'M14 4h6v6m0-6L11 13m7 1v6H4V6h6',
  back: 'm14 6-6 6 6 6',
  alert: 'M12 9v4m0 4h.01M10.300 4 2.500 18a2 2 0 0 0 1.700 3h15.600a2 2 0 0 0 1.700-3L13.700 4a2 2 0 0 0-3.400 0',
} as const;
export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);
