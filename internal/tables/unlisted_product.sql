create table unlisted_product (
  product text not null
)
